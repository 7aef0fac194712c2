// Compositions of statistics.
#include "mlx/ops/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

std::vector<int> axes_of(const char* op, const array& a, const OptionalAxes& axes) {
  if (axes) return normalize_axes(*axes, static_cast<int64_t>(a.ndim()), op);
  return all_axes(a);
}
/// `a` with NaN replaced by `v`.
array without_nan(const array& a, double v, StreamOrDevice s) {
  if (!is_inexact(a.dtype())) return a;
  return where(isnan(a, s), constant(v, a.dtype()), a, s);
}
/// 16-bit floats and integers in the dtype in which sums are made.
Dtype summed_dtype(Dtype t) {
  const Dtype f = at_least_float(t);
  return f.size() == 2 ? float32 : f;
}
/// The number of elements that are no NaN, as a real number.
array count_numbers(const array& a, const std::vector<int>& axes, bool keepdims, StreamOrDevice s) {
  const array numbers = logical_not(isnan(a, s), s);
  return sum(astype(numbers, real_dtype(summed_dtype(a.dtype())), s), axes, keepdims, s);
}
/// The extremum that `f` finds, in which NaN is `neutral`, and NaN where there is no number.
array extremum(const char* op, const array& a, const OptionalAxes& given, bool keepdims,
               double neutral, StreamOrDevice s,
               array (*f)(const array&, const std::vector<int>&, bool, StreamOrDevice)) {
  const auto axes = axes_of(op, a, given);
  if (!is_inexact(a.dtype())) return f(a, axes, keepdims, s);
  const array none = all(isnan(a, s), axes, keepdims, s);
  const array found = f(without_nan(a, neutral, s), axes, keepdims, s);
  return where(none, constant(NAN, a.dtype()), found, s);
}
array flat_unless(const array& a, std::optional<int> axis, StreamOrDevice s) {
  return axis ? a : flatten(a, s);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows that are reduced: the axes merged into the last one.
array rows_of(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  std::vector<int> order;
  Shape shape;
  int64_t n = 1;
  for (int i = 0; i < static_cast<int>(a.ndim()); ++i) {
    if (std::binary_search(axes.begin(), axes.end(), i)) {
      n *= a.shape()[i];
      continue;
    }
    order.push_back(i);
    shape.push_back(a.shape()[i]);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  shape.push_back(n);
  return reshape(transpose(a, order, s), shape, s);
}

/// Sorted rows at fractional positions, which broadcast along the last axis.
array at_positions(const array& rows, const array& position, const std::string& method,
                   StreamOrDevice s) {
  const Dtype t = rows.dtype();
  const auto element = [&](const array& p) {
    return take_along_axis(rows, astype(p, int32, s), -1, s);
  };
  const array low = floor(position, s), high = ceil(position, s);
  if (method == "lower") return element(low);
  if (method == "higher") return element(high);
  if (method == "nearest") return element(rint(position, s));
  const array a = element(low), b = element(high);
  if (method == "midpoint")
    return multiply(add(a, where(equal(low, high, s), a, b, s), s), constant(0.5, t), s);
  if (method != "linear")
    fail("quantile", "method ", method, "; linear, lower, higher, nearest, midpoint are accepted");
  const array part = astype(subtract(position, low, s), t, s);
  // Infinite neighbours have no difference.
  const array between = add(a, multiply(subtract(b, a, s), part, s), s);
  return where(equal(a, b, s), a, between, s);
}

/// Variables as rows of observations, at least float32.
array variables(const array& m, bool rowvar, StreamOrDevice s) {
  if (m.ndim() > 2)
    fail("cov", "an array of shape ", to_string(m.shape()), "; up to two axes are accepted");
  const array x = astype(atleast_2d(m, s), at_least_float(m.dtype()), s);
  return rowvar || m.ndim() < 2 ? x : transpose(x, s);
}

}  // namespace

array nansum(const array& a, const OptionalAxes& axes, bool keepdims, StreamOrDevice s) {
  return sum(without_nan(a, 0, s), axes_of("nansum", a, axes), keepdims, s);
}
array nanprod(const array& a, const OptionalAxes& axes, bool keepdims, StreamOrDevice s) {
  return prod(without_nan(a, 1, s), axes_of("nanprod", a, axes), keepdims, s);
}
array nanmax(const array& a, const OptionalAxes& axes, bool keepdims, StreamOrDevice s) {
  return extremum("nanmax", a, axes, keepdims, -kInfinity, s, max);
}
array nanmin(const array& a, const OptionalAxes& axes, bool keepdims, StreamOrDevice s) {
  return extremum("nanmin", a, axes, keepdims, kInfinity, s, min);
}

array nanmean(const array& a, const OptionalAxes& given, bool keepdims, StreamOrDevice s) {
  const auto axes = axes_of("nanmean", a, given);
  const array x = astype(a, summed_dtype(a.dtype()), s);
  const array total = sum(without_nan(x, 0, s), axes, keepdims, s);
  return astype(divide(total, count_numbers(x, axes, keepdims, s), s), at_least_float(a.dtype()),
                s);
}

array nanvar(const array& a, const OptionalAxes& given, bool keepdims, double ddof,
             StreamOrDevice s) {
  const auto axes = axes_of("nanvar", a, given);
  const Dtype result = real_dtype(at_least_float(a.dtype()));
  const array x = astype(a, summed_dtype(a.dtype()), s);
  const array d = without_nan(subtract(x, nanmean(x, axes, true, s), s), 0, s);
  const array squares =
      is_complex(d.dtype()) ? add(square(real(d, s), s), square(imag(d, s), s), s) : square(d, s);
  const array n = count_numbers(x, axes, keepdims, s), total = sum(squares, axes, keepdims, s);
  const array divisor = subtract(n, constant(ddof, n.dtype()), s);
  const array zero = constant(0, n.dtype());
  const array safe = where(greater(divisor, zero, s), divisor, constant(NAN, n.dtype()), s);
  return astype(divide(total, safe, s), result, s);
}
array nanstd(const array& a, const OptionalAxes& axes, bool keepdims, double ddof,
             StreamOrDevice s) {
  return sqrt(nanvar(a, axes, keepdims, ddof, s), s);
}

array nanargmax(const array& a, std::optional<int> axis, bool keepdims, StreamOrDevice s) {
  const array x = without_nan(a, -kInfinity, s);
  return axis ? argmax(x, *axis, keepdims, s) : argmax(x, keepdims, s);
}
array nanargmin(const array& a, std::optional<int> axis, bool keepdims, StreamOrDevice s) {
  const array x = without_nan(a, kInfinity, s);
  return axis ? argmin(x, *axis, keepdims, s) : argmin(x, keepdims, s);
}
array nancumsum(const array& a, std::optional<int> axis, StreamOrDevice s) {
  return cumsum(without_nan(flat_unless(a, axis, s), 0, s), axis.value_or(0), false, true, s);
}
array nancumprod(const array& a, std::optional<int> axis, StreamOrDevice s) {
  return cumprod(without_nan(flat_unless(a, axis, s), 1, s), axis.value_or(0), false, true, s);
}

array quantile(const array& a, const array& q, const OptionalAxes& given, const std::string& method,
               bool keepdims, bool skip_nan, StreamOrDevice s) {
  const auto axes = axes_of("quantile", a, given);
  if (is_complex(a.dtype()) || is_complex(q.dtype()))
    fail("quantile", dtype_name(a.dtype()), " with q of ", dtype_name(q.dtype()),
         "; real dtypes are accepted");
  const array rows = rows_of(astype(a, at_least_float(a.dtype()), s), axes, s);
  const int64_t n = rows.shape(-1);
  if (n == 0)
    fail("quantile", "no elements in shape ", to_string(a.shape()), "; at least one is needed");
  note_shape_read(a);
  const array sorted = sort(rows, -1, s), nan = constant(NAN, rows.dtype());
  const array zero = constant(0, float64), one = constant(1, float64);
  const array p = astype(flatten(q, s), float64, s);
  const array valid = logical_and(greater_equal(p, zero, s), less_equal(p, one, s), s);
  array last = constant(static_cast<double>(n - 1), float64);
  if (skip_nan) {
    const array numbers = sum(astype(logical_not(isnan(rows, s), s), float64, s), -1, true, s);
    last = maximum(subtract(numbers, one, s), zero, s);
  }
  array position = multiply(where(valid, p, zero, s), last, s);
  Shape shape = rows.shape();
  shape.back() = static_cast<int64_t>(p.size());
  position = broadcast_to(position, shape, s);
  array out = at_positions(sorted, position, method, s);
  if (!skip_nan) {
    const array largest = take(sorted, n - 1, static_cast<int>(sorted.ndim()) - 1, s);
    out = where(isnan(expand_dims(largest, -1, s), s), nan, out, s);
  }
  out = moveaxis(where(valid, out, nan, s), -1, 0, s);
  Shape result = q.shape(), rest = reduced_shape(a.shape(), axes, keepdims);
  result.insert(result.end(), rest.begin(), rest.end());
  return reshape(out, result, s);
}

array nanmedian(const array& a, const OptionalAxes& axes, bool keepdims, StreamOrDevice s) {
  return quantile(a, constant(0.5, float64), axes, "midpoint", keepdims, true, s);
}

array ptp(const array& a, const OptionalAxes& given, bool keepdims, StreamOrDevice s) {
  const auto axes = axes_of("ptp", a, given);
  return subtract(max(a, axes, keepdims, s), min(a, axes, keepdims, s), s);
}

std::pair<array, array> average(const array& a, const OptionalAxes& given,
                                const std::optional<array>& weights, bool keepdims,
                                StreamOrDevice s) {
  const auto axes = axes_of("average", a, given);
  if (!weights) {
    const array y = mean(a, axes, keepdims, s);
    const array n = number_of_elements(a, axes, false, y.dtype(), s);
    return {y, broadcast_to(n, y.shape(), s)};
  }
  array w = *weights;
  if (w.shape() != a.shape()) {
    if (!given || axes.size() != 1 || w.ndim() != 1 || w.shape(0) != a.shape(axes[0]))
      fail("average", "weights of shape ", to_string(w.shape()), " for an array of shape ",
           to_string(a.shape()),
           "; equal shapes, or one axis and weights of its length are accepted");
    Shape along(a.ndim(), 1);
    along[axes[0]] = w.shape(0);
    w = broadcast_to(reshape(w, along, s), a.shape(), s);
  }
  const Dtype t = at_least_float(promote_types(a.dtype(), w.dtype())), wide = summed_dtype(t);
  const array x = astype(a, wide, s), v = astype(w, wide, s);
  const array total = sum(v, axes, keepdims, s);
  const array y = divide(sum(multiply(x, v, s), axes, keepdims, s), total, s);
  return {astype(y, t, s), astype(total, t, s)};
}

array cov(const array& m, const std::optional<array>& y, bool rowvar, double ddof,
          StreamOrDevice s) {
  array x = variables(m, rowvar, s);
  if (y) {
    const array other = variables(*y, rowvar, s);
    if (other.shape(1) != x.shape(1))
      fail("cov", x.shape(1), " and ", other.shape(1), " observations; equal numbers are accepted");
    x = concatenate({x, other}, 0, s);
  }
  const Dtype result = x.dtype();
  x = astype(x, summed_dtype(result), s);
  const array n = number_of_elements(x, {1}, false, real_dtype(x.dtype()), s);
  const array d = subtract(x, mean(x, 1, true, s), s);
  const array products = matmul(d, conjugate(transpose(d, s), s), s);
  const array divisor =
      maximum(subtract(n, constant(ddof, n.dtype()), s), constant(0, n.dtype()), s);
  const array c = divide(products, divisor, s);
  return astype(x.shape(0) == 1 ? reshape(c, {}, s) : c, result, s);
}

array corrcoef(const array& m, const std::optional<array>& y, bool rowvar, StreamOrDevice s) {
  const array c = cov(m, y, rowvar, 1, s);
  if (c.ndim() == 0) return divide(c, c, s);
  const array deviation = sqrt(real(diagonal(c, 0, 0, 1, s), s), s);
  return divide(divide(c, expand_dims(deviation, 0, s), s), expand_dims(deviation, 1, s), s);
}

}  // namespace mlx::core
