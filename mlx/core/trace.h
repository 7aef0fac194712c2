// What a trace that must serve inputs of all shapes learns about the function that it traces.
#pragma once

#include "mlx/core/array.h"

namespace mlx::core {

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
  uint8_t level_;
  bool read_ = false;
  ShapeWatch* outer_;
};

/// Tells traces under way on this thread that what comes next may depend on the shape of `a` in a
/// way that no op of the graph shows.
void note_shape_read(const array& a);

}  // namespace mlx::core
