// Compositions of functions on sampled curves and polynomials.
#include "mlx/ops/curves.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"
#include "mlx/ops/linalg_functions.h"
#include "mlx/ops/number_parts.h"
#include "mlx/ops/special.h"

namespace mlx::core {

namespace {

void require_vector(const char* op, const char* name, const array& a) {
  if (a.ndim() != 1) fail(op, name, " of shape ", to_string(a.shape()), "; one axis is accepted");
}
/// Elements `from` to `to` of an axis; a negative `to` counts from the end.
array range_of(const array& a, int axis, int64_t from, int64_t to, StreamOrDevice s) {
  Shape start(a.ndim(), 0), stop = a.shape();
  start[axis] = from;
  stop[axis] = to <= 0 ? a.shape(axis) + to : to;
  return slice(a, start, stop, s);
}
/// A vector along an axis of arrays with `ndim` axes.
array along(const array& v, int axis, size_t ndim, StreamOrDevice s) {
  Shape shape(ndim, 1);
  shape[axis] = v.shape(0);
  return reshape(v, shape, s);
}

}  // namespace

array logspace(double start, double stop, int num, bool endpoint, double base, Dtype dtype,
               StreamOrDevice s) {
  const array exponents = linspace(start, stop, num, endpoint, float64, s);
  return astype(power(constant(base, float64), exponents, s), dtype, s);
}

array geomspace(double start, double stop, int num, bool endpoint, Dtype dtype, StreamOrDevice s) {
  if (!(start * stop > 0) || !std::isfinite(start * stop))
    fail("geomspace", start, " to ", stop, "; finite numbers of one sign, and no 0, are accepted");
  const double sign = start < 0 ? -1 : 1;
  const array exponents =
      linspace(std::log10(std::abs(start)), std::log10(std::abs(stop)), num, endpoint, float64, s);
  array out = multiply(power(constant(10, float64), exponents, s), constant(sign, float64), s);
  // The ends are the given numbers.
  const array i = integer_range(0, num, 1, int32, s), first = array(0), last = array(num - 1);
  out = where(equal(i, first, s), constant(start, float64), out, s);
  if (endpoint && num > 1) out = where(equal(i, last, s), constant(stop, float64), out, s);
  return astype(out, dtype, s);
}

array interp(const array& x, const array& xp, const array& fp, const std::optional<array>& left,
             const std::optional<array>& right, StreamOrDevice s) {
  require_vector("interp", "xp", xp);
  if (fp.shape() != xp.shape() || xp.size() == 0)
    fail("interp", "xp of shape ", to_string(xp.shape()), " and fp of shape ",
         to_string(fp.shape()), "; equal lengths from 1 are accepted");
  const Dtype t = real_of("interp", promote_types(x.dtype(), xp.dtype()));
  const Dtype result = promote_types(t, fp.dtype());
  const array at = astype(x, t, s), xs = astype(xp, t, s), ys = astype(fp, result, s);
  const int64_t n = xp.shape(0);
  array inside;
  if (n == 1) {
    inside = broadcast_to(ys, {1}, s);
    inside = broadcast_to(reshape(inside, Shape(at.ndim(), 1), s), at.shape(), s);
  } else {
    const array one = array(1, int32), top = array(static_cast<int32_t>(n - 1), int32);
    const array found = astype(searchsorted(xs, at, "right", s), int32, s);
    const array high = minimum(maximum(found, one, s), top, s), low = subtract(high, one, s);
    const array x0 = take(xs, low, 0, s), x1 = take(xs, high, 0, s);
    const array y0 = take(ys, low, 0, s), y1 = take(ys, high, 0, s);
    const array width = subtract(x1, x0, s), none = equal(width, constant(0, t), s);
    const array ratio = divide(subtract(at, x0, s), where(none, constant(1, t), width, s), s);
    inside = add(y0, multiply(subtract(y1, y0, s), astype(ratio, result, s), s), s);
  }
  const array first = take(xs, 0, 0, s), last = take(xs, n - 1, 0, s);
  const array below = left ? astype(*left, result, s) : take(ys, 0, 0, s);
  const array above = right ? astype(*right, result, s) : take(ys, n - 1, 0, s);
  const array not_below = where(less(at, first, s), below, inside, s);
  const array out = where(greater(at, last, s), above, not_below, s);
  return where(isnan(at, s), astype(at, result, s), out, s);
}

array gradient(const array& f, const array& spacing, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, f.ndim(), "gradient");
  note_shape_read(f);
  const int64_t n = f.shape(axis);
  if (n < 2) fail("gradient", n, " elements along axis ", axis, "; at least 2 are accepted");
  const Dtype t = at_least_float(promote_types(f.dtype(), spacing.dtype()));
  const array y = astype(f, t, s), h = astype(spacing, t, s);
  const array steps = diff(y, 1, axis, s);
  if (h.ndim() == 0) {
    const array inner =
        multiply(add(range_of(steps, axis, 1, 0, s), range_of(steps, axis, 0, -1, s), s),
                 constant(0.5, t), s);
    return divide(
        concatenate({range_of(steps, axis, 0, 1, s), inner, range_of(steps, axis, n - 2, n - 1, s)},
                    axis, s),
        h, s);
  }
  if (h.ndim() != 1 || h.shape(0) != n)
    fail("gradient", "positions of shape ", to_string(h.shape()), " for ", n,
         " elements; a number, or one position for each is accepted");
  const array d = along(diff(h, 1, 0, s), axis, f.ndim(), s);
  const array slopes = divide(steps, d, s);
  const array left = range_of(d, axis, 0, -1, s), right = range_of(d, axis, 1, 0, s);
  const array weighted = add(multiply(left, range_of(slopes, axis, 1, 0, s), s),
                             multiply(right, range_of(slopes, axis, 0, -1, s), s), s);
  const array inner = divide(weighted, add(left, right, s), s);
  return concatenate(
      {range_of(slopes, axis, 0, 1, s), inner, range_of(slopes, axis, n - 2, n - 1, s)}, axis, s);
}

array trapezoid(const array& y, const std::optional<array>& x, double dx, int axis,
                StreamOrDevice s) {
  axis = normalize_axis(axis, y.ndim(), "trapezoid");
  Dtype t = at_least_float(y.dtype());
  if (x) t = promote_types(t, x->dtype());
  const array v = astype(y, t, s);
  if (v.shape(axis) < 1) return sum(v, axis, false, s);
  const array pairs = add(range_of(v, axis, 1, 0, s), range_of(v, axis, 0, -1, s), s);
  if (!x) return multiply(sum(pairs, axis, false, s), constant(dx / 2, t), s);
  if (x->ndim() != 1 && x->shape() != y.shape())
    fail("trapezoid", "x of shape ", to_string(x->shape()), " for y of shape ",
         to_string(y.shape()), "; the same shape, or one axis is accepted");
  const bool same = x->ndim() == y.ndim();
  array d = diff(astype(*x, t, s), 1, same ? axis : 0, s);
  if (!same) d = along(d, axis, y.ndim(), s);
  return multiply(sum(multiply(pairs, d, s), axis, false, s), constant(0.5, t), s);
}

array unwrap(const array& p, std::optional<double> discont, int axis, double period,
             StreamOrDevice s) {
  axis = normalize_axis(axis, p.ndim(), "unwrap");
  if (!(period > 0)) fail("unwrap", "period ", period, "; positive numbers are accepted");
  const Dtype t = real_of("unwrap", p.dtype());
  const array x = astype(p, t, s), d = diff(x, 1, axis, s);
  const array half = constant(period / 2, t), whole = constant(period, t);
  const array wrapped = subtract(remainder(add(d, half, s), whole, s), half, s);
  const array edge =
      logical_and(equal(wrapped, negative(half, s), s), greater(d, constant(0, t), s), s);
  const array jump = constant(std::max(discont.value_or(period / 2), period / 2), t);
  const array correction = subtract(where(edge, half, wrapped, s), d, s);
  const array zero = constant(0, t);
  const array steps = where(less(abs(d, s), jump, s), zero, correction, s);
  const array shift = cumsum(steps, axis, false, true, s);
  return concatenate({range_of(x, axis, 0, 1, s), add(range_of(x, axis, 1, 0, s), shift, s)}, axis,
                     s);
}

array polyval(const array& p, const array& x, StreamOrDevice s) {
  require_vector("polyval", "p", p);
  note_shape_read(p);
  const Dtype t = promote_types(p.dtype(), x.dtype());
  const array c = astype(p, t, s), at = astype(x, t, s);
  array out = zeros(x.shape(), t, s);
  for (int64_t i = 0; i < p.shape(0); ++i) out = add(multiply(out, at, s), take(c, i, 0, s), s);
  return out;
}

array vander(const array& x, std::optional<int64_t> n, bool increasing, StreamOrDevice s) {
  require_vector("vander", "x", x);
  note_shape_read(x);
  const int64_t columns = n.value_or(x.shape(0));
  if (columns < 0) fail("vander", columns, " columns; numbers from 0 are accepted");
  const Dtype t = x.dtype() == bool_ ? int32 : x.dtype();
  std::vector<array> powers{ones(x.shape(), t, s)};
  for (int64_t i = 1; i < columns; ++i)
    powers.push_back(multiply(powers.back(), astype(x, t, s), s));
  if (columns == 0) return zeros({x.shape(0), 0}, t, s);
  const array out = stack(powers, 1, s);
  return increasing ? out : flip(out, 1, s);
}

array polyfit(const array& x, const array& y, int degree, const std::optional<array>& w,
              StreamOrDevice s) {
  require_vector("polyfit", "x", x);
  if (degree < 0) fail("polyfit", "degree ", degree, "; numbers from 0 are accepted");
  if (y.ndim() < 1 || y.ndim() > 2 || y.shape(0) != x.shape(0))
    fail("polyfit", "x of shape ", to_string(x.shape()), " and y of shape ", to_string(y.shape()),
         "; as many rows of y as elements of x are accepted");
  const Dtype t = at_least_float(promote_types(x.dtype(), y.dtype()));
  const Dtype wide = t.size() == 2 ? float32 : t;
  array rows = vander(astype(x, wide, s), degree + 1, false, s), values = astype(y, wide, s);
  if (w) {
    if (w->shape() != x.shape())
      fail("polyfit", "weights of shape ", to_string(w->shape()),
           "; one for each element is accepted");
    const array each = astype(*w, wide, s), column = expand_dims(each, 1, s);
    rows = multiply(rows, column, s);
    values = multiply(values, y.ndim() == 1 ? each : column, s);
  }
  // Columns of one size are better conditioned.
  const array size = sqrt(sum(square(abs(rows, s), s), 0, true, s), s);
  const array found = linalg::lstsq(divide(rows, size, s), values, {}, s).x;
  const array scale = flatten(size, s);
  return astype(divide(found, y.ndim() == 1 ? scale : expand_dims(scale, 1, s), s), t, s);
}

array vdot(const array& a, const array& b, StreamOrDevice s) {
  if (a.size() != b.size())
    fail("vdot", a.size(), " and ", b.size(), " elements; equal numbers are accepted");
  return vecdot(flatten(a, s), flatten(b, s), -1, s);
}

array digitize(const array& x, const array& bins, bool right, StreamOrDevice s) {
  require_vector("digitize", "bins", bins);
  const Dtype t = real_of("digitize", promote_types(x.dtype(), bins.dtype()));
  const array values = astype(x, t, s), edges = astype(bins, t, s);
  const int64_t n = bins.shape(0);
  const array up = astype(searchsorted(edges, values, right ? "left" : "right", s), int32, s);
  if (n < 2) return up;
  const array turned = flip(edges, 0, s);
  const array down =
      subtract(array(static_cast<int32_t>(n), int32),
               astype(searchsorted(turned, values, right ? "left" : "right", s), int32, s), s);
  return where(greater(take(edges, 0, 0, s), take(edges, n - 1, 0, s), s), down, up, s);
}

array correlate(const array& a, const array& v, const std::string& mode, StreamOrDevice s) {
  require_vector("correlate", "a", a);
  require_vector("correlate", "v", v);
  if (a.size() == 0 || v.size() == 0)
    fail("correlate", a.size(), " and ", v.size(), " elements; at least one is accepted");
  const array other = is_complex(v.dtype()) ? conjugate(v, s) : v;
  return convolve(a, flip(other, 0, s), mode, s);
}

array kaiser(int m, double beta, StreamOrDevice s) {
  if (m <= 1) return ones({std::max(m, 0)}, float32, s);
  const array i =
      subtract(multiply(integer_range(0, m, 1, float64, s), constant(2.0 / (m - 1), float64), s),
               constant(1, float64), s);
  const array root =
      sqrt(maximum(subtract(constant(1, float64), square(i, s), s), constant(0, float64), s), s);
  const array top = special::bessel_i(0, false, multiply(root, constant(beta, float64), s), s);
  return astype(divide(top, special::bessel_i(0, false, constant(beta, float64), s), s), float32,
                s);
}

array histogramdd(const std::vector<array>& points, const std::vector<array>& edges,
                  const std::optional<array>& weights, bool density, StreamOrDevice s) {
  if (points.size() != edges.size() || points.empty())
    fail("histogramdd", points.size(), " coordinates and ", edges.size(),
         " edges; edges for each coordinate are accepted");
  array cell = constant(0, int32), inside = constant(1, bool_);
  Shape shape;
  int64_t total = 1;
  Dtype widest = bool_;
  for (size_t i = 0; i < points.size(); ++i) {
    require_vector("histogramdd", "a coordinate", points[i]);
    require_vector("histogramdd", "edges", edges[i]);
    const int64_t n = edges[i].shape(0) - 1;
    if (n < 1) fail("histogramdd", n + 1, " edges; at least 2 are accepted");
    const Dtype t = real_of("histogramdd", promote_types(points[i].dtype(), edges[i].dtype()));
    widest = promote_types(widest, t);
    const array x = astype(points[i], t, s), e = astype(edges[i], t, s);
    const array last = equal(x, take(e, n, 0, s), s);
    array bin = subtract(digitize(x, e, false, s), array(1, int32), s);
    bin = where(last, array(static_cast<int32_t>(n - 1), int32), bin, s);
    const array there = logical_and(greater_equal(bin, array(0, int32), s),
                                    less(bin, array(static_cast<int32_t>(n), int32), s), s);
    inside = logical_and(inside, there, s);
    cell = add(multiply(cell, array(static_cast<int32_t>(n), int32), s), bin, s);
    shape.push_back(n);
    total *= n;
    if (total > std::numeric_limits<int32_t>::max() - 1)
      fail<SizeError>("histogramdd", "more than 2^31 cells; less is accepted");
  }
  // Points outside are counted in a cell behind the others.
  cell = where(inside, cell, array(static_cast<int32_t>(total), int32), s);
  const array counts = slice(bincount(cell, weights, 0, total + 1, s), {0}, {total}, s);
  array out = reshape(counts, shape, s);
  if (!density) return out;
  const Dtype t = at_least_float(widest == float64 ? widest : out.dtype());
  out = divide(astype(out, t, s), astype(sum(out, s), t, s), s);
  for (size_t i = 0; i < edges.size(); ++i) {
    const array width = astype(diff(edges[i], 1, 0, s), t, s);
    out = divide(out, along(width, static_cast<int>(i), shape.size(), s), s);
  }
  return out;
}

}  // namespace mlx::core
