// NumPy-style index expressions a[...] as data, and reads and updates with them.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// One item of an index expression.
struct MLX_API IndexItem {
  enum class Kind : uint8_t {
    integer,   ///< selects one index and drops the axis
    slice,     ///< start:stop:step, each of them optional
    ellipsis,  ///< as many full slices as fit
    newaxis,   ///< a new axis of length 1
    array,     ///< integer indices of any shape
    mask,      ///< a boolean array over as many axes as it has (True and False: none)
  };

  Kind kind;
  int64_t index = 0;
  std::optional<int64_t> start{}, stop{}, step{};
  core::array values{};  ///< of `array` and `mask`

  static IndexItem integer(int64_t i) { return {.kind = Kind::integer, .index = i}; }
  static IndexItem slice(std::optional<int64_t> start, std::optional<int64_t> stop,
                         std::optional<int64_t> step = {}) {
    return {.kind = Kind::slice, .start = start, .stop = stop, .step = step};
  }
  static IndexItem ellipsis() { return {.kind = Kind::ellipsis}; }
  static IndexItem newaxis() { return {.kind = Kind::newaxis}; }
  /// Integer arrays are indices, boolean arrays are masks; other dtypes throw IndexError.
  static IndexItem positions(const core::array& a);
};
using IndexItems = std::vector<IndexItem>;

/// How an update combines the selected elements with the values. For repeated indices, `set` keeps
/// the last value and the others apply all of them in order.
enum class UpdateKind : uint8_t { set, add, subtract, multiply, divide, maximum, minimum };

/// a[items]. The order of result axes is NumPy's: the broadcast axes of adjacent index arrays stay
/// in place, those of separated ones come first. Masks are evaluated. Throws IndexError for too
/// many items, integers out of range and masks of the wrong shape.
MLX_API array index_read(const array& a, const IndexItems& items, StreamOrDevice s = {});

/// A copy of `a` whose elements at `items` are combined with `value`, which is cast to the dtype of
/// `a` and broadcast to the shape of a[items] (leading axes of length 1 are dropped if needed).
MLX_API array index_update(const array& a, const IndexItems& items, const array& value,
                           UpdateKind kind = UpdateKind::set, StreamOrDevice s = {});

}  // namespace mlx::core
