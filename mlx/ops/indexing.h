// NumPy-style index expressions: what stands between the brackets of a[...], as data, and how it is
// read and written. Also the functions that turn a condition into positions.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// One item of an index expression.
struct MLX_API IndexItem {
  enum class Kind : uint8_t {
    integer,   ///< picks one position and drops the axis
    slice,     ///< start:stop:step, each of them optional
    ellipsis,  ///< as many full slices as fit
    newaxis,   ///< a new axis of length 1
    array,     ///< integer positions of any shape
    mask,      ///< a boolean array over as many axes as it has (none for True and False)
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
  /// Integer arrays give positions, boolean ones a mask; other dtypes throw IndexError.
  static IndexItem positions(const core::array& a);
};
using IndexItems = std::vector<IndexItem>;

/// What an update does with the elements that an index expression selects. Where positions repeat,
/// `set` keeps the last value and the others apply all of them in order.
enum class UpdateKind : uint8_t { set, add, subtract, multiply, divide, maximum, minimum };

/// a[items]. The axes of the result are NumPy's: those of the broadcast index arrays stand where
/// the arrays stood when they were neighbours, else first. Masks are evaluated. Throws IndexError
/// for too many items, integers out of range and masks that do not fit.
MLX_API array index_read(const array& a, const IndexItems& items, StreamOrDevice s = {});

/// A copy of `a` whose elements at `items` are combined with `value`, which is cast to the dtype of
/// `a` and broadcast to the shape of a[items] (leading axes of length 1 are dropped as needed).
MLX_API array index_update(const array& a, const IndexItems& items, const array& value,
                           UpdateKind kind = UpdateKind::set, StreamOrDevice s = {});

}  // namespace mlx::core
