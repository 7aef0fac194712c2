// Counting made of sorts, searches and scattered additions.
#include "mlx/ops/counting.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

/// Ones to count in int32, or the weights of `a`, in a column.
array addends(const char* op, const array& a, const std::optional<array>& weights,
              StreamOrDevice s) {
  const auto n = static_cast<int64_t>(a.size());
  if (!weights) return ones({n, 1}, int32, s);
  if (weights->shape() != a.shape())
    fail(op, "weights of shape ", to_string(weights->shape()), " for an array of shape ",
         to_string(a.shape()), "; equal shapes are accepted");
  const Dtype t = weights->dtype() == bool_ ? int32 : weights->dtype();
  return reshape(astype(*weights, t, s), {n, 1}, s);
}

array sums_at(const array& positions, const array& values, int64_t length, StreamOrDevice s) {
  return scatter_add(zeros({length}, values.dtype(), s), flatten(positions, s), values, 0, s);
}

/// Bounds of bins of one width.
array even_edges(const array& x, int64_t bins, const HistogramRange& range, StreamOrDevice s) {
  const Dtype t = x.dtype();
  array low = constant(0, t), high = constant(1, t);
  if (range) {
    if (!(range->first <= range->second) || !std::isfinite(range->second - range->first))
      fail("histogram", "a range from ", range->first, " to ", range->second,
           "; finite numbers in ascending order are accepted");
    low = constant(range->first, t);
    high = constant(range->second, t);
  } else if (x.size() > 0) {
    low = min(x, s);
    high = max(x, s);
  }
  const array half = where(equal(low, high, s), constant(0.5, t), constant(0, t), s);
  low = subtract(low, half, s);
  high = add(high, half, s);
  const array i = astype(integer_range(0, bins + 1, 1, int64, s), t, s);
  const array part = divide(i, constant(static_cast<double>(bins), t), s);
  const array inner = add(low, multiply(subtract(high, low, s), part, s), s);
  // The last bound is the largest element, however the sum rounds.
  return where(equal(i, constant(static_cast<double>(bins), t), s), high, inner, s);
}

std::pair<array, array> binned(const array& x, const array& edges,
                               const std::optional<array>& weights, bool density,
                               StreamOrDevice s) {
  const int64_t bins = edges.shape(0) - 1;
  const array values = addends("histogram", x, weights, s);
  // What lies below falls into slot 0, what lies above and NaN into the last one.
  const array last = slice(edges, {bins}, {bins + 1}, s);
  array at = searchsorted(edges, flatten(x, s), "right", s);
  at = where(equal(flatten(x, s), last, s), array(bins, uint32), at, s);
  array sums = slice(sums_at(at, values, bins + 2, s), {1}, {bins + 1}, s);
  if (density) {
    const Dtype t = promote_types(at_least_float(edges.dtype()), sums.dtype());
    const array width = astype(diff(edges, 1, 0, s), t, s);
    const array all = astype(sum(sums, s), t, s);
    sums = divide(divide(astype(sums, t, s), width, s), all, s);
  }
  return {sums, edges};
}

}  // namespace

array isin(const array& a, const array& values, bool invert, StreamOrDevice s) {
  const Dtype t = promote_types(a.dtype(), values.dtype());
  if (values.size() == 0) return full(a.shape(), array(invert), bool_, s);
  const array x = astype(a, t, s), sorted = sort(astype(values, t, s), s);
  const array end = array(static_cast<int64_t>(values.size()) - 1, uint32);
  const array at = minimum(searchsorted(sorted, x, "left", s), end, s);
  const array found = take(sorted, at, 0, s);
  return invert ? not_equal(found, x, s) : equal(found, x, s);
}

array bincount(const array& x, const std::optional<array>& weights, int64_t minlength,
               std::optional<int64_t> length, StreamOrDevice s) {
  if (x.ndim() != 1 || is_inexact(x.dtype()))
    fail("bincount", "an array of shape ", to_string(x.shape()), " and dtype ",
         dtype_name(x.dtype()), "; integers with one dimension are accepted");
  if (minlength < 0 || (length && *length < 0))
    fail("bincount", "a length of ", length ? *length : minlength, "; values from 0 are accepted");
  const array values = addends("bincount", x, weights, s);
  int64_t count = length.value_or(minlength);
  if (!length && x.size() > 0) {
    const array ends = astype(stack({min(x, s), max(x, s)}, s), int64, s);
    compute_for("bincount", {ends}, "length=n gives as many results as are asked for");
    const auto* p = ends.data<const int64_t>();
    if (p[0] < 0) fail("bincount", "the element ", p[0], "; numbers from 0 are accepted");
    count = std::max(count, p[1] + 1);
  }
  if (count == 0) return zeros({0}, values.dtype(), s);
  return sums_at(x.dtype() == bool_ ? astype(x, uint8, s) : x, values, count, s);
}

std::pair<array, array> histogram(const array& a, int bins, const HistogramRange& range,
                                  const std::optional<array>& weights, bool density,
                                  StreamOrDevice s) {
  if (bins < 1) fail("histogram", bins, " bins; at least 1 is accepted");
  if (is_complex(a.dtype())) fail("histogram", "complex numbers; real ones are accepted");
  const array x = astype(a, at_least_float(a.dtype()), s);
  return binned(x, even_edges(x, bins, range, s), weights, density, s);
}

std::pair<array, array> histogram(const array& a, const array& edges,
                                  const std::optional<array>& weights, bool density,
                                  StreamOrDevice s) {
  if (edges.ndim() != 1 || edges.size() == 0 || is_complex(a.dtype()) || is_complex(edges.dtype()))
    fail("histogram", "bounds of shape ", to_string(edges.shape()), " and dtype ",
         dtype_name(edges.dtype()), " for ", dtype_name(a.dtype()),
         "; real numbers with one dimension are accepted");
  const Dtype t = promote_types(a.dtype(), edges.dtype());
  return binned(astype(a, t, s), astype(edges, t, s), weights, density, s);
}

}  // namespace mlx::core
