// Shapes, strides and their arithmetic. All sizes are 64-bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/dtype.h"
#include "mlx/core/small_vector.h"

namespace mlx::core {

using ShapeElem = int64_t;
/// Lengths of the axes, outermost first.
using Shape = SmallVector<int64_t, 4>;
/// Distance in elements between neighbours along each axis; may be zero or negative.
using Strides = SmallVector<int64_t, 4>;

/// The maximum number of axes, as in NumPy.
constexpr size_t kMaxAxes = 64;
[[noreturn]] void too_many_axes(size_t rank, const char* op);
/// Throws ValueError naming `op` for more than kMaxAxes axes.
inline void check_rank(size_t rank, const char* op) {
  if (rank > kMaxAxes) [[unlikely]]
    too_many_axes(rank, op);
}

/// Dtype, shape, strides and offset of an operand in its buffer.
struct Layout {
  Shape shape;
  Strides strides;     ///< elements
  int64_t offset = 0;  ///< elements from the start of the buffer
  Dtype dtype = float32;
};

/// As many elements of any dtype have a number of bytes that fits in int64.
constexpr int64_t kMaxElements = (int64_t{1} << 59) - 1;
/// Throws SizeError.
[[noreturn]] MLX_API void too_many_elements(const Shape& shape);

/// Product of the lengths; throws SizeError where it is 2^59 or more.
inline int64_t num_elements(const Shape& shape) {
  int64_t n = 1;
  bool overflow = false;
  for (int64_t d : shape) {
    if (d == 0) return 0;
    overflow |= __builtin_mul_overflow(n, d, &n);
  }
  if (overflow || n > kMaxElements) [[unlikely]]
    too_many_elements(shape);
  return n;
}
/// Strides of a dense array in row-major order.
MLX_API Strides row_major(const Shape& shape);
/// True if the elements are contiguous in row-major order (axes of length 1 do not count).
MLX_API bool is_row_contiguous(const Shape& shape, const Strides& strides);
/// True if the elements fill one contiguous range of memory in some order of the axes.
MLX_API bool is_dense(const Shape& shape, const Strides& strides);
/// First and last element accessed, relative to the offset; {0, -1} if empty.
MLX_API std::pair<int64_t, int64_t> extent(const Shape& shape, const Strides& strides);

/// The broadcast shape of two shapes by NumPy's rule; throws ValueError naming `op` if there is
/// none.
MLX_API Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op = "broadcast_shapes");
/// Strides of an operand of `shape` when it is read as the broadcast shape `to`.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to);

/// `axis` normalised to [0, ndim): negative values count from the end. Throws IndexError naming
/// `op`.
MLX_API int normalize_axis(int64_t axis, int64_t ndim, const char* op);
/// Normalised axes, sorted; throws IndexError when out of range and ValueError when repeated.
std::vector<int> normalize_axes(const std::vector<int>& axes, int64_t ndim, const char* op);

/// "(2,3)" as in messages and reprs.
MLX_API std::string to_string(const Shape& shape);

/// Merges neighbouring axes that are contiguous in every operand, and drops axes of length 1. All
/// stride lists have the rank of `shape`; a scalar becomes one axis of length 1.
MLX_API void collapse_axes(Shape& shape, std::vector<Strides>& strides);

}  // namespace mlx::core
