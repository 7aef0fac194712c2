// Reads index arrays: any integer dtype and strides, negative indices, several axes at once.
#pragma once

#include <vector>

#include "mlx/backend/common/index_error.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// An index array and the axis of the indexed array that it indexes.
struct IndexedAxis {
  View indices;
  int axis;
  int64_t size;    ///< length of the axis
  int64_t span;    ///< elements read from each index on (1 except for slices)
  int64_t stride;  ///< elements between neighbours on the axis
};

/// Index arrays broadcast to one shape, as offsets into the indexed array.
class Positions {
 public:
  Positions(const char* op, const Shape& shape, const std::vector<IndexedAxis>& axes);
  /// Number of positions.
  int64_t size() const { return size_; }
  /// Offsets, in elements, of positions [begin, end) in row-major order of the shape. Throws
  /// IndexError for an index outside its axis.
  void read(int64_t begin, int64_t end, int64_t* out) const;
  /// Throws IndexError for an index outside its axis, without reading elements.
  void check() const;

 private:
  struct Source {
    IndexedAxis at;
    Shape shape;  // merged axes
    Strides strides;
  };
  const char* op_;
  int64_t size_;
  std::vector<Source> sources_;
};

/// The index of dtype T at p, counted from the end when negative; throws IndexError outside
/// [-size, size - span].
template <class T>
int64_t checked_index(T index, int64_t size, int64_t span, const char* op, int axis);

template <class T>
inline int64_t checked_index(T index, int64_t size, int64_t span, const char* op, int axis) {
  int64_t i = static_cast<int64_t>(index);
  if constexpr (std::is_signed_v<T>) i += i < 0 ? size : 0;
  if (static_cast<uint64_t>(i) > static_cast<uint64_t>(size - span) || size < span) [[unlikely]]
    bad_index(op, std::to_string(index), axis, size, span);
  return i;
}

/// Calls `f(TypeTag<T>{})` with the C++ type of an integer dtype.
template <class F>
void dispatch_index(Dtype t, F&& f) {
  dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) f(tag);
  });
}

}  // namespace mlx::core::cpu
