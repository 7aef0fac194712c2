// Active transformations, and whether a function traced for inputs of all shapes reads shapes.
#pragma once

#include <memory>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Identifies an active transformation (grad, vmap, compile): the sequence number of the outermost
/// one around it, which only grows, above eight bits of nesting depth. A nested transformation
/// compares greater; 0 means none.
using Trace = uint64_t;

/// A transformation on this thread, for the lifetime of the object. The transformations of a thread
/// may end in any order.
class MLX_API TraceScope {
 public:
  TraceScope();
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;

 private:
  Trace own_;
};

/// The innermost active transformation of this thread.
MLX_API Trace current_trace();
/// True while a transformation is active on any thread.
MLX_API bool any_trace_runs();
/// True while a derivative may still be requested of nodes with this trace: the transformation or
/// one around it is active, on any thread. Such nodes keep their inputs when they are evaluated.
MLX_API bool is_live(Trace t);
/// True while the transformation itself is active, as far as this thread knows.
MLX_API bool is_open(Trace t);

/// Records, for its lifetime, whether user code on this thread reads shapes of arrays that depend
/// on traces started later. The watches of one thread may end in any order.
class MLX_API ShapeWatch {
 public:
  ShapeWatch();
  ~ShapeWatch();
  ShapeWatch(const ShapeWatch&) = delete;
  bool shape_was_read() const { return state_->read; }
  /// True for nodes that this thread has made since: others cannot depend on what is traced.
  bool made(const Node& n) const {
    return n.watch != 0 && static_cast<int16_t>(n.watch - state_->number) >= 0;
  }

  /// An entry of the list of this thread's watches.
  struct State {
    Trace outside;
    uint16_t number;
    bool read = false;
    State *outer, *inner = nullptr;
  };

 private:
  std::unique_ptr<State> state_;
};

/// For its lifetime, this thread records a function whose graph will run later, any number of
/// times.
class MLX_API RecordingScope {
 public:
  RecordingScope();
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
};
/// True while the thread records one.
MLX_API bool is_recording();

/// Reports to the active traces of this thread that the computation may depend on the shape of `a`
/// in a way that the graph does not record.
MLX_API void note_shape_read(const array& a);

}  // namespace mlx::core
