// Sets by sorting and searching.
#include "mlx/ops/sets.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

/// The flattened array in the common dtype of both.
array line(const array& a, const array& b, StreamOrDevice s) {
  return flatten(astype(a, promote_types(a.dtype(), b.dtype()), s), s);
}
array distinct_values(const array& a, StreamOrDevice s) {
  return unique(a, std::nullopt, false, false, false, std::nullopt, s)[0];
}

}  // namespace

array union1d(const array& a, const array& b, StreamOrDevice s) {
  return distinct_values(concatenate({line(a, b, s), line(b, a, s)}, 0, s), s);
}
array intersect1d(const array& a, const array& b, StreamOrDevice s) {
  const array x = distinct_values(line(a, b, s), s);
  return extract(isin(x, line(b, a, s), false, s), x, s);
}
array setdiff1d(const array& a, const array& b, StreamOrDevice s) {
  const array x = distinct_values(line(a, b, s), s);
  return extract(isin(x, line(b, a, s), true, s), x, s);
}
array setxor1d(const array& a, const array& b, StreamOrDevice s) {
  return sort(concatenate({setdiff1d(a, b, s), setdiff1d(b, a, s)}, 0, s), s);
}

std::vector<array> intersect1d_indices(const array& a, const array& b, StreamOrDevice s) {
  const array x = line(a, b, s), y = line(b, a, s);
  const std::vector<array> left = unique(x, std::nullopt, true, false, false, std::nullopt, s);
  const std::vector<array> right = unique(y, std::nullopt, true, false, false, std::nullopt, s);
  const array common = isin(left[0], y, false, s), values = extract(common, left[0], s);
  if (right[0].size() == 0) return {values, zeros({0}, uint32, s), zeros({0}, uint32, s)};
  const array at = searchsorted(right[0], values, "left", s);
  return {values, extract(common, left[1], s), take(right[1], at, 0, s)};
}

array trim_zeros(const array& a, bool front, bool back, StreamOrDevice s) {
  if (a.ndim() != 1)
    fail("trim_zeros", "an array of shape ", to_string(a.shape()), "; one axis is accepted");
  const array there = not_equal(a, constant(0, a.dtype()), s);
  array kept = ones(a.shape(), bool_, s);
  if (front) kept = logical_and(kept, cummax(astype(there, int32, s), 0, false, true, s), s);
  if (back) kept = logical_and(kept, cummax(astype(there, int32, s), 0, true, true, s), s);
  return compress(kept, a, 0, s);
}

}  // namespace mlx::core
