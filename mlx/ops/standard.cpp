// Compositions for the array API standard.
#include "mlx/ops/standard.h"

#include <complex>
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

/// The integer dtype of the same width as a floating dtype.
Dtype bits_dtype(Dtype t) { return t.size() == 2 ? int16 : t.size() == 4 ? int32 : int64; }
/// The floating dtype that two real operands are promoted to.
Dtype common_floating(const char* op, const array& a, const array& b) {
  const Dtype t = at_least_float(promote_types(a.dtype(), b.dtype()));
  if (is_complex(t))
    fail(op, dtype_name(a.dtype()), " and ", dtype_name(b.dtype()), "; real dtypes are accepted");
  return t;
}

/// A scan preceded by its neutral element.
array from_neutral(const char* op, const array& a, std::optional<int> axis, double neutral,
                   array (*scan)(const array&, int, bool, bool, std::optional<Dtype>,
                                 StreamOrDevice),
                   std::optional<Dtype> dtype, StreamOrDevice s) {
  if (!axis && a.ndim() > 1)
    fail(op, "an array of shape ", to_string(a.shape()),
         " and no axis; without one at most one dimension is accepted");
  const array x = axis ? a : flatten(a, s);
  const int d = normalize_axis(axis.value_or(0), x.ndim(), op);
  const array rest = scan(x, d, false, true, dtype, s);
  Shape one = x.shape();
  one[d] = 1;
  return concatenate({broadcast_to(constant(neutral, rest.dtype()), one, s), rest}, d, s);
}

}  // namespace

array signbit(const array& a, StreamOrDevice s) {
  if (is_complex(a.dtype())) fail("signbit", dtype_name(a.dtype()), "; real dtypes are accepted");
  if (a.dtype() == bool_ || is_unsigned(a.dtype())) return zeros(a.shape(), bool_, s);
  const array x = is_floating(a.dtype()) ? view(a, bits_dtype(a.dtype()), s) : a;
  return less(x, constant(0, x.dtype()), s);
}

array copysign(const array& a, const array& b, StreamOrDevice s) {
  const Dtype t = common_floating("copysign", a, b);
  const array size = abs(astype(a, t, s), s);
  return where(signbit(astype(b, t, s), s), negative(size, s), size, s);
}

array hypot(const array& a, const array& b, StreamOrDevice s) {
  const Dtype t = common_floating("hypot", a, b), wide = t.size() == 2 ? float32 : t;
  const array x = abs(astype(a, wide, s), s), y = abs(astype(b, wide, s), s);
  const array high = maximum(x, y, s), low = minimum(x, y, s);
  const array some = where(equal(high, constant(0, wide), s), constant(1, wide), high, s);
  const array r =
      multiply(high, sqrt(add(square(divide(low, some, s), s), constant(1, wide), s), s), s);
  const array infinite = logical_or(isinf(x, s), isinf(y, s), s);
  return astype(where(infinite, constant(INFINITY, wide), r, s), t, s);
}

array nextafter(const array& a, const array& b, StreamOrDevice s) {
  const Dtype t = common_floating("nextafter", a, b), whole = bits_dtype(t);
  const array x = astype(a, t, s), y = astype(b, t, s);
  const array zero = constant(0, t), one = array(1, whole), bits = view(x, whole, s);
  const array up = less(x, y, s);
  // A larger magnitude has larger bits as an integer, for both signs.
  const array away = equal(up, greater(x, zero, s), s);
  const array next = add(bits, where(away, one, array(-1, whole), s), s);
  const array smallest = add(view(constant(-0.0, t), whole, s), one, s);
  const array from_zero = where(up, one, smallest, s);
  const array moved = view(where(equal(x, zero, s), from_zero, next, s), t, s);
  const array number = where(equal(x, y, s), y, moved, s);
  return where(logical_or(isnan(x, s), isnan(y, s), s), add(x, y, s), number, s);
}

array finite_numbers(const array& a, double nan, std::optional<double> posinf,
                     std::optional<double> neginf, StreamOrDevice stream) {
  const Dtype t = a.dtype();
  if (!is_inexact(t)) return a;
  const Stream s = to_stream(stream);
  if (is_complex(t)) {
    auto part = [&](const array& x) { return finite_numbers(x, nan, posinf, neginf, s); };
    return from_parts(part(real(a, s)), part(imag(a, s)), s);
  }
  const double largest = t == float16    ? 65504.0
                         : t == bfloat16 ? 0x1.fep127
                         : t == float32  ? std::numeric_limits<float>::max()
                                         : std::numeric_limits<double>::max();
  array out = a;
  // The limits are the first operands: elements equal to them keep their cotangents.
  if (!neginf) out = maximum(constant(-largest, t), out, s);
  if (!posinf) out = minimum(constant(largest, t), out, s);
  if (neginf) out = where(isneginf(a, s), constant(*neginf, t), out, s);
  if (posinf) out = where(isposinf(a, s), constant(*posinf, t), out, s);
  return where(isnan(a, s), constant(nan, t), out, s);
}

array sort_descending(const array& a, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, a.ndim(), "sort");
  return flip(sort(a, axis, s), axis, s);
}
array argsort_descending(const array& a, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, a.ndim(), "argsort");
  // Reversing twice keeps the order of equal elements.
  const array last = array(a.shape(axis) - 1, uint32);
  return subtract(last, flip(argsort(flip(a, axis, s), axis, s), axis, s), s);
}

array cumsum_from_zero(const array& a, std::optional<int> axis, std::optional<Dtype> dtype,
                       StreamOrDevice s) {
  return from_neutral("cumulative_sum", a, axis, 0, cumsum, dtype, s);
}
array cumprod_from_one(const array& a, std::optional<int> axis, std::optional<Dtype> dtype,
                       StreamOrDevice s) {
  return from_neutral("cumulative_prod", a, axis, 1, cumprod, dtype, s);
}

array repeat(const array& a, const array& counts, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, a.ndim(), "repeat");
  const int64_t n = a.shape(axis);
  if (is_inexact(counts.dtype()))
    fail<TypeError>("repeat", "counts of dtype ", dtype_name(counts.dtype()),
                    "; integers are accepted");
  if (counts.ndim() > 1 || (counts.size() != 1 && static_cast<int64_t>(counts.size()) != n))
    fail("repeat", "counts of shape ", to_string(counts.shape()), " and dtype ",
         dtype_name(counts.dtype()), " for an axis of length ", n,
         "; one integer, or one for each slice is accepted");
  if (n == 0) return a;
  const array each = broadcast_to(flatten(astype(counts, int64, s), s), {n}, s);
  const array ends = cumsum(each, 0, false, true, s), smallest = min(each, s);
  compute_for("repeat", {ends, smallest}, "a count that is a Python integer is accepted");
  if (smallest.item<int64_t>() < 0)
    fail("repeat", "the count ", smallest.item<int64_t>(), "; numbers from 0 are accepted");
  const int64_t total = take(ends, -1, s).item<int64_t>();
  const array at = integer_range(0, total, 1, int64, s);
  return take(a, searchsorted(ends, at, "right", s), axis, s);
}

array moveaxis(const array& a, const std::vector<int>& source, const std::vector<int>& destination,
               StreamOrDevice s) {
  if (source.size() != destination.size())
    fail("moveaxis", source.size(), " axes to ", destination.size(),
         " places; equal numbers are accepted");
  const auto ndim = static_cast<int64_t>(a.ndim());
  normalize_axes(source, ndim, "moveaxis");
  normalize_axes(destination, ndim, "moveaxis");
  std::vector<int> order(a.ndim(), -1);
  std::vector<bool> moved(a.ndim(), false);
  for (size_t i = 0; i < source.size(); ++i) {
    const int from = normalize_axis(source[i], a.ndim(), "moveaxis");
    order[normalize_axis(destination[i], a.ndim(), "moveaxis")] = from;
    moved[from] = true;
  }
  int next = 0;
  for (int& axis : order) {
    if (axis >= 0) continue;
    while (moved[next]) ++next;
    axis = next++;
  }
  return transpose(a, order, s);
}

array dot(const array& a, const array& b, StreamOrDevice s) {
  if (a.ndim() == 0 || b.ndim() == 0) return multiply(a, b, s);
  const int axis = b.ndim() > 1 ? -2 : -1;
  if (a.shape(-1) != b.shape(axis))
    fail("dot", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; the last axis of the first and the last but one of the second, or its only one, must "
         "agree");
  return tensordot(a, b, std::vector<int>{-1}, std::vector<int>{axis}, s);
}

}  // namespace mlx::core
