// Offsets of elements by their number, for kernels of extensions.
#pragma once

#include <filesystem>  // programs take it from here

#include "mlx/core/array.h"

namespace mlx::core {

/// The offset, in elements, of the element with a row-major number.
inline int64_t elem_to_loc(int64_t number, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  for (size_t i = shape.size(); i-- > 0; number /= shape[i])
    offset += number % shape[i] * strides[i];
  return offset;
}
inline int64_t elem_to_loc(int64_t number, const array& a) {
  return elem_to_loc(number, a.shape(), a.strides());
}

/// The strides of row-major elements.
inline Strides make_contiguous_strides(const Shape& shape) { return row_major(shape); }

}  // namespace mlx::core
