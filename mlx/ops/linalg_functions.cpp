// Norms, cross products, least squares, ranks and powers as compositions.
#include "mlx/ops/linalg_functions.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/linalg.h"

namespace mlx::core::linalg {

namespace {

using AxisList = std::vector<int>;

/// Absolute values in the computation dtype, at least float32.
array moduli(const array& a, Stream s) {
  const bool narrow = !is_inexact(a.dtype()) || a.dtype().size() == 2;
  return abs(narrow ? astype(a, float32, s) : a, s);
}
/// The dtype of the norm of `a`.
Dtype norm_dtype(const array& a) { return is_inexact(a.dtype()) ? real_dtype(a.dtype()) : float32; }

/// Real elements in float64 if their squares may exceed the range of float32.
array widened(const array& a, Stream s) {
  return astype(a, a.dtype() == float16 ? float32 : float64, s);
}

/// Powers of two that scale nonnegative float64 numbers close to 1, for each group along `axes`.
array scales_of(const array& x, const AxisList& axes, Stream s) {
  const array exponent = array(uint64_t{0x7ff0000000000000});
  const array largest = stop_gradient(axes.empty() ? x : max(x, axes, true, s), s);
  const array power = view(bitwise_and(view(largest, uint64, s), exponent, s), float64, s);
  // Zero and subnormal numbers use the smallest normal number; infinities and NaN stay unscaled.
  const array finite = where(isinf(power, s), constant(1.0, float64), power, s);
  return maximum(finite, constant(0x1p-1022, float64), s);
}

/// Applies `f` to real arrays without overflow and underflow: `f` reduces `axes`, which it keeps,
/// and f(c · x) is c · f(x) for c > 0. float64 is scaled, other dtypes are widened.
template <class F>
array in_range(Arrays parts, const AxisList& axes, bool keepdims, Stream s, F f) {
  const bool scaled = parts[0].dtype() == float64 && parts[0].size() > 0;
  for (array& x : parts) x = widened(x, s);
  array out;
  if (scaled) {
    array size = abs(parts[0], s);
    for (size_t i = 1; i < parts.size(); ++i) size = maximum(size, abs(parts[i], s), s);
    // Powers of two from 2^-1022 on, whose reciprocals are exact.
    const array scale = scales_of(size, axes, s), inverse = divide(array(1.0, float64), scale, s);
    for (array& x : parts) x = multiply(x, inverse, s);
    out = multiply(f(parts), scale, s);
  } else {
    out = f(parts);
  }
  return keepdims || axes.empty() ? out : squeeze(out, axes, s);
}

/// The root of a sum of powers. Its derivative is defined as 0 where the sum is 0, the subgradient
/// of least norm.
array root_of(const array& total, double ord, Stream s) {
  const array none = equal(total, constant(0.0, total.dtype()), s);
  const array x = where(none, constant(1.0, total.dtype()), total, s);
  const array root = ord == 2 ? sqrt(x, s) : power(x, constant(1 / ord, x.dtype()), s);
  return where(none, constant(ord > 0 ? 0.0 : INFINITY, x.dtype()), root, s);
}

array euclidean(const array& a, const AxisList& axes, bool keepdims, Stream s) {
  const bool parts = is_complex(a.dtype());
  return in_range(parts ? Arrays{real(a, s), imag(a, s)} : Arrays{a}, axes, keepdims, s,
                  [&](const Arrays& x) {
                    array squares = square(x[0], s);
                    if (parts) squares = add(squares, square(x[1], s), s);
                    return root_of(sum(squares, axes, true, s), 2, s);
                  });
}

array norm_of_vectors(const array& a, double ord, const AxisList& axes, bool keepdims, Stream s) {
  if (ord == 2) return euclidean(a, axes, keepdims, s);
  const array x = moduli(a, s);
  if (std::isinf(ord)) return ord > 0 ? max(x, axes, keepdims, s) : min(x, axes, keepdims, s);
  if (ord == 1) return sum(x, axes, keepdims, s);
  if (ord == 0)
    return sum(astype(not_equal(x, constant(0.0, x.dtype()), s), x.dtype(), s), axes, keepdims, s);
  return in_range({x}, axes, keepdims, s, [&](const Arrays& y) {
    const array p = constant(ord, y[0].dtype());
    return root_of(sum(power(y[0], p, s), axes, true, s), ord, s);
  });
}

/// The singular values of the matrices in two axes, as a last axis.
array values_of(const array& a, const AxisList& axes, Stream s) {
  array x = is_inexact(a.dtype()) && a.dtype().size() > 2 ? a : astype(a, float32, s);
  int rows = normalize_axis(axes[0], a.ndim(), "linalg.norm");
  int columns = normalize_axis(axes[1], a.ndim(), "linalg.norm");
  x = moveaxis(x, rows, -1, s);
  return svd(moveaxis(x, columns < rows ? columns : columns - 1, -1, s), false, s)[0];
}

array restored(const array& reduced, const AxisList& axes, size_t ndim, bool keepdims, Stream s) {
  if (!keepdims) return reduced;
  return expand_dims(reduced, normalize_axes(axes, ndim, "linalg.norm"), s);
}

array matrix_norm(const array& a, double ord, const AxisList& axes, bool keepdims, Stream s) {
  const double size = std::abs(ord);
  if (size != 1 && size != 2 && !std::isinf(ord))
    fail("linalg.norm", "order ", ord,
         " over two axes; 1, -1, 2, -2, inf, -inf, 'fro' and 'nuc' "
         "are accepted");
  array lengths;
  if (size == 2) {
    lengths = values_of(a, axes, s);
  } else {
    const int summed = axes[size == 1 ? 0 : 1], kept = axes[size == 1 ? 1 : 0];
    lengths = moveaxis(sum(moduli(a, s), summed, true, s), kept, -1, s);
    int gone = normalize_axis(summed, a.ndim(), "linalg.norm");
    if (gone > normalize_axis(kept, a.ndim(), "linalg.norm")) --gone;
    lengths = squeeze(lengths, gone, s);
  }
  array out = ord > 0 ? max(lengths, -1, false, s) : min(lengths, -1, false, s);
  return restored(out, axes, a.ndim(), keepdims, s);
}

/// The given axes, checked, or all axes.
AxisList norm_axes(const array& a, const std::optional<AxisList>& axis) {
  AxisList axes;
  if (axis) {
    axes = *axis;
  } else {
    for (int i = 0; i < static_cast<int>(a.ndim()); ++i) axes.push_back(i);
  }
  normalize_axes(axes, a.ndim(), "linalg.norm");
  return axes;
}

[[noreturn]] void wrong_axes(const char* accepted, size_t n) {
  fail("linalg.norm", n, " axes; ", accepted, " accepted");
}

}  // namespace

array norm(const array& a, const std::optional<AxisList>& axis, bool keepdims, StreamOrDevice s) {
  const Stream st = to_stream(s);
  const AxisList axes = norm_axes(a, axis);
  if (axis && axes.size() > 2) wrong_axes("one or two are", axes.size());
  return cast_to(euclidean(a, axes, keepdims, st), norm_dtype(a), st);
}

array norm(const array& a, const double ord, const std::optional<AxisList>& axis, bool keepdims,
           StreamOrDevice s) {
  const Stream st = to_stream(s);
  const AxisList axes = norm_axes(a, axis);
  if (axes.empty() || axes.size() > 2) wrong_axes("one or two are", axes.size());
  return cast_to(axes.size() == 2 ? matrix_norm(a, ord, axes, keepdims, st)
                                  : norm_of_vectors(a, ord, axes, keepdims, st),
                 norm_dtype(a), st);
}

array norm(const array& a, const std::string& ord, const std::optional<AxisList>& axis,
           bool keepdims, StreamOrDevice s) {
  if (ord != "fro" && ord != "f" && ord != "nuc")
    fail("linalg.norm", "order '", ord, "'; numbers, 'fro' and 'nuc' are accepted");
  const Stream st = to_stream(s);
  const AxisList axes = norm_axes(a, axis);
  if (axes.size() != 2) wrong_axes("for orders 'fro' and 'nuc' two are", axes.size());
  array out = ord == "nuc" ? restored(sum(values_of(a, axes, st), -1, false, st), axes, a.ndim(),
                                      keepdims, st)
                           : euclidean(a, axes, keepdims, st);
  return cast_to(out, norm_dtype(a), st);
}

array vector_norm(const array& a, double ord, const std::optional<AxisList>& axis, bool keepdims,
                  StreamOrDevice s) {
  const Stream st = to_stream(s);
  return cast_to(norm_of_vectors(a, ord, norm_axes(a, axis), keepdims, st), norm_dtype(a), st);
}

std::pair<array, array> complete_qr(const array& a, StreamOrDevice s) {
  if (a.ndim() < 2 || a.shape(-2) <= a.shape(-1)) return qr(a, s);
  // The first columns have the reflections of `a`; unit columns complete the basis.
  const int64_t m = a.shape(-2), n = a.shape(-1);
  Shape square(a.shape().begin(), a.shape().end() - 1);
  square.push_back(m);
  const array wide = concatenate({a, broadcast_to(eye(m, m, 0, a.dtype(), s), square, s)}, -1, s);
  auto [q, r] = qr(wide, s);
  Shape stop = r.shape();
  stop.back() = n;
  return {q, slice(r, Shape(r.ndim(), 0), stop, s)};
}

array cross(const array& a, const array& b, int axis, StreamOrDevice s) {
  const Stream st = to_stream(s);
  const Dtype t = promote_types(a.dtype(), b.dtype());
  auto padded = [&](const array& x) {
    const int at = normalize_axis(axis, x.ndim(), "linalg.cross");
    const int64_t n = x.shape(at);
    if (n != 2 && n != 3)
      fail("linalg.cross", "vectors of length ", n, " along axis ", axis, " of shape ",
           to_string(x.shape()), "; lengths 2 and 3 are accepted");
    array wide = cast_to(x, t, st);
    return n == 3 ? wide : pad(wide, {at}, {0}, {1}, array(0), "constant", st);
  };
  array x = padded(a), y = padded(b);
  const Shape shape = broadcast_shapes(x.shape(), y.shape(), "linalg.cross");
  x = broadcast_to(x, shape, st);
  y = broadcast_to(y, shape, st);
  const int at = normalize_axis(axis, shape.size(), "linalg.cross");
  auto part = [&](const array& v, int i) {
    Shape start(shape.size(), 0), stop = shape;
    start[at] = i;
    stop[at] = i + 1;
    return slice(v, start, stop, st);
  };
  Arrays parts;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(
        subtract(multiply(part(x, j), part(y, k), st), multiply(part(x, k), part(y, j), st), st));
  }
  return concatenate(parts, at, st);
}

namespace {

/// The ratio to the largest singular value up to which singular values are treated as zero.
double default_tolerance(const array& a) {
  const double unit = real_dtype(a.dtype()) == float64 ? 0x1p-52 : 0x1p-23;
  return unit * static_cast<double>(std::max(a.shape(-1), a.shape(-2)));
}

/// Which singular values exceed the given ratio to the largest, per matrix.
array above_share(const array& values, const array& share, Stream s) {
  if (is_complex(share.dtype()) || share.dtype() == bool_)
    fail("linalg", "a relative tolerance of dtype ", dtype_name(share.dtype()),
         "; real numbers are accepted");
  const array bound =
      multiply(expand_dims(astype(share, values.dtype(), s), -1, s), max(values, -1, true, s), s);
  return greater(values, bound, s);
}

/// The number of values above a limit; with `share`, the limit is relative to the largest value.
array count_above(const array& values, double limit, bool share, Stream s) {
  if (values.shape(-1) == 0)
    return zeros(Shape(values.shape().begin(), values.shape().end() - 1), int32, s);
  array bound = constant(limit, values.dtype());
  if (share) bound = multiply(bound, max(values, -1, true, s), s);
  return astype(sum(greater(values, bound, s), -1, false, s), int32, s);
}

}  // namespace

LeastSquares lstsq(const array& a, const array& b, std::optional<double> rcond, StreamOrDevice s) {
  const Stream st = to_stream(s);
  const bool vector = b.ndim() == 1;
  if (a.ndim() < 2 || b.ndim() == 0 || b.shape(vector ? -1 : -2) != a.shape(-2))
    fail("linalg.lstsq", "a matrix of shape ", to_string(a.shape()),
         " and right-hand sides of shape ", to_string(b.shape()),
         "; shapes (.., M, N) and (.., M, K) or (M,) are accepted");
  const Dtype t = promote_types(a.dtype(), b.dtype());
  array x = cast_to(a, t, st), y = cast_to(vector ? expand_dims(b, 1, st) : b, t, st);
  const double share = rcond && *rcond >= 0 ? *rcond : default_tolerance(x);
  array solution = matmul(pinv(x, share, st), y, st);
  array rest = subtract(y, matmul(x, solution, st), st);
  array residuals =
      sum(is_complex(t) ? real(multiply(rest, conjugate(rest, st), st), st) : square(rest, st), -2,
          false, st);
  array values = svd(x, false, st)[0];
  auto as_given = [&](const array& r, int axis) { return vector ? squeeze(r, axis, st) : r; };
  return {as_given(solution, -1), as_given(residuals, -1), count_above(values, share, true, st),
          values};
}

array matrix_rank(const array& a, std::optional<double> tol, StreamOrDevice s) {
  const Stream st = to_stream(s);
  array values = svd(a, false, st)[0];
  return count_above(values, tol.value_or(default_tolerance(a)), !tol, st);
}

array matrix_rank(const array& a, const array& rtol, StreamOrDevice s) {
  const Stream st = to_stream(s);
  const array values = svd(a, false, st)[0];
  if (values.shape(-1) == 0) return count_above(values, 0, false, st);
  return astype(sum(above_share(values, rtol, st), -1, false, st), int32, st);
}

array pinv(const array& a, const array& rtol, StreamOrDevice s) {
  const Stream st = to_stream(s);
  const Arrays parts = thin_svd(a, st);
  const array& values = parts[1];
  if (values.size() == 0) return pinv(a, st);
  const array kept = above_share(values, rtol, st), one = constant(1.0, values.dtype());
  const array inverse =
      where(kept, divide(one, where(kept, values, one, st), st), zeros_like(values, st), st);
  auto turned = [&](const array& x) { return conjugate(swapaxes(x, -1, -2, st), st); };
  const array scaled = multiply(turned(parts[2]), expand_dims(inverse, -2, st), st);
  return matmul(scaled, turned(parts[0]), st);
}

array matrix_power(const array& a, int n, StreamOrDevice s) {
  if (a.ndim() < 2 || a.shape(-1) != a.shape(-2))
    fail("linalg.matrix_power", "an array of shape ", to_string(a.shape()),
         "; square matrices are accepted");
  const Stream st = to_stream(s);
  array base = n < 0 ? inv(a, st) : a, out;
  for (uint32_t left = static_cast<uint32_t>(std::abs(static_cast<int64_t>(n))); left; left >>= 1) {
    if (left & 1) out = out ? matmul(out, base, st) : base;
    if (left > 1) base = matmul(base, base, st);
  }
  if (out) return out;
  return broadcast_to(eye(a.shape(-1), a.shape(-1), 0, a.dtype(), st), a.shape(), st);
}

}  // namespace mlx::core::linalg
