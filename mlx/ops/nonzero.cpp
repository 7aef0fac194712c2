// Positions of elements that are not zero. How many there are is only known after evaluation.
#include <memory>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/indexing.h"
#include "mlx/runtime/eval.h"

namespace mlx::core {
namespace {

/// The positions, in row-major order, of the elements of `a` that are not zero, split into one
/// index for each axis of `shape`.
template <class I>
std::vector<array> positions(const array& a, const Shape& shape, StreamOrDevice s) {
  array truth = contiguous(astype(a, bool_, s), false, s);
  compute_for("nonzero", {truth},
              "where(condition, x, y) and products with the condition keep the shape");
  const auto* p = truth.data<const unsigned char>();
  int64_t size = static_cast<int64_t>(truth.size()), count = 0;
  for (int64_t i = 0; i < size; ++i) count += p[i] != 0;
  std::vector<std::unique_ptr<I[]>> columns;
  for (size_t axis = 0; axis < shape.size(); ++axis) columns.emplace_back(new I[count + 1]);
  int64_t found = 0;
  if (shape.size() == 1) {
    I* out = columns[0].get();
    for (int64_t i = 0; i < size; ++i) {
      out[found] = static_cast<I>(i);  // overwritten unless counted
      found += p[i] != 0;
    }
  } else {
    for (int64_t i = 0; found < count; ++i) {
      if (!p[i]) continue;
      int64_t rest = i;
      for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
        columns[axis][found] = static_cast<I>(rest % shape[axis]);
      ++found;
    }
  }
  std::vector<array> out;
  for (auto& column : columns)
    out.push_back(array::copy_of(column.get(), {count}, TypeToDtype<I>::value));
  return out;
}

std::vector<array> positions_of(const array& a, const Shape& shape, StreamOrDevice s) {
  return a.size() > INT32_MAX ? positions<int64_t>(a, shape, s) : positions<int32_t>(a, shape, s);
}

}  // namespace

void compute_for(const char* op, const std::vector<array>& arrays, const char* instead) {
  try {
    eval(arrays);
  } catch (const PlaceholderError&) {
    fail<PlaceholderError>(op,
                           "an array without values, as a function sees it while it is traced; the "
                           "shape of the result depends on them: ",
                           instead);
  }
}

std::vector<array> nonzero(const array& a, StreamOrDevice s) {
  if (a.ndim() == 0) fail("nonzero", "a scalar; at least one dimension is needed");
  return positions_of(a, a.shape(), s);
}

array argwhere(const array& a, StreamOrDevice s) {
  if (a.ndim() == 0) {
    array found = flatnonzero(a, s);
    return reshape(found, {found.shape(0), 0}, s);
  }
  return stack(nonzero(a, s), 1, s);
}

array flatnonzero(const array& a, StreamOrDevice s) {
  return positions_of(a, {static_cast<int64_t>(a.size())}, s)[0];
}

array compress(const array& condition, const array& a, std::optional<int> axis, StreamOrDevice s) {
  if (condition.ndim() != 1)
    fail("compress", "a condition of shape ", to_string(condition.shape()),
         "; one dimension is accepted");
  const array x = axis ? a : flatten(a, s);
  const int along = normalize_axis(axis.value_or(0), static_cast<int64_t>(x.ndim()), "compress");
  const array at = flatnonzero(condition, s);
  // A longer condition will do where the rest is false.
  if (at.size() > 0 && condition.shape(0) > x.shape(along)) {
    const auto last = take(at, -1, s).item<int64_t>();
    if (last >= x.shape(along))
      fail<IndexError>("compress", "a condition that holds at ", last, " for ", x.shape(along),
                       " elements; it may be longer where it is false");
  }
  return take(x, at, along, s);
}

array extract(const array& condition, const array& a, StreamOrDevice s) {
  return compress(flatten(condition, s), a, std::nullopt, s);
}

}  // namespace mlx::core
