// Which transformations run, and what a trace that must serve inputs of all shapes learns about the
// function that it traces.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Names a transformation (grad, vmap, compile) that runs: the number of the outermost one around
/// it, which only grows, above eight bits of depth. One inside of another is the greater, and 0 is
/// none.
using Trace = uint64_t;

/// A transformation of this thread, for its lifetime.
class TraceScope {
 public:
  TraceScope();
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
};

/// The innermost transformation that runs on this thread.
MLX_API Trace current_trace();
/// True while a transformation runs on any thread.
MLX_API bool any_trace_runs();
/// True where a derivative may still be asked of what depends on the transformation: it runs, or
/// one around it does, on whichever thread. Such nodes keep their inputs when they are evaluated.
bool is_live(Trace t);
/// True while the transformation itself runs, as far as this thread knows.
MLX_API bool is_open(Trace t);

/// Watches, for its lifetime, whether the program on this thread looks at shapes of arrays that
/// depend on traces begun later.
class ShapeWatch {
 public:
  ShapeWatch();
  ~ShapeWatch();
  ShapeWatch(const ShapeWatch&) = delete;
  bool shape_was_read() const { return read_; }

 private:
  friend void note_shape_read(const array&);
  Trace outside_;
  bool read_ = false;
  ShapeWatch* outer_;
};

/// Tells traces under way on this thread that what comes next may depend on the shape of `a` in a
/// way that no op of the graph shows.
MLX_API void note_shape_read(const array& a);

}  // namespace mlx::core
