// Parts of numbers by arithmetic of their bits.
#include "mlx/ops/number_parts.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/standard.h"

namespace mlx::core {

namespace {

Dtype unsigned_of(Dtype t) {
  return t.size() == 1 ? uint8 : t.size() == 2 ? uint16 : t.size() == 4 ? uint32 : uint64;
}
void require_integers(const char* op, const array& a) {
  if (a.dtype() == bool_ || is_inexact(a.dtype()))
    fail(op, dtype_name(a.dtype()), "; integers are accepted");
}
/// Bits of integers, as unsigned ones.
array bits_of(const array& a, StreamOrDevice s) { return view(a, unsigned_of(a.dtype()), s); }

/// The number of ones: sums of neighbouring fields of 1, 2, 4, .. bits.
array ones_of(array x, StreamOrDevice s) {
  const Dtype t = x.dtype();
  const int width = static_cast<int>(t.size()) * 8;
  for (int field = 1; field < width; field *= 2) {
    const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    const array mask =
        array(all / ((uint64_t{1} << field) + 1), t);  // the lower field of each pair
    const array upper = bitwise_and(right_shift(x, array(uint64_t(field), t), s), mask, s);
    x = add(bitwise_and(x, mask, s), upper, s);
  }
  return x;
}

/// 2^n for integers within the range of exponents.
array power_of_two(const array& n, Dtype t, StreamOrDevice s) {
  const bool wide = t == float64;
  const Dtype bits = wide ? uint64 : uint32;
  const array biased = astype(add(n, array(wide ? 1023 : 127, int32), s), bits, s);
  return view(left_shift(biased, array(uint64_t(wide ? 52 : 23), bits), s), t, s);
}

int axis_in(const char* op, const array& a, int axis) {
  if (a.ndim() == 0) fail(op, "a scalar; at least one axis is accepted");
  return normalize_axis(axis, static_cast<int64_t>(a.ndim()), op);
}
array bit_positions(bool little, StreamOrDevice s) {
  return little ? integer_range(0, 8, 1, uint8, s) : integer_range(7, -1, -1, uint8, s);
}

}  // namespace

Dtype real_of(const char* op, Dtype t) {
  if (is_complex(t)) fail(op, dtype_name(t), "; real dtypes are accepted");
  return at_least_float(t);
}

array population_count(const array& a, StreamOrDevice s) {
  require_integers("population_count", a);
  return astype(ones_of(bits_of(a, s), s), a.dtype(), s);
}
array bitwise_count(const array& a, StreamOrDevice s) {
  require_integers("bitwise_count", a);
  return astype(ones_of(bits_of(abs(a, s), s), s), uint8, s);
}
array clz(const array& a, StreamOrDevice s) {
  require_integers("clz", a);
  array x = bits_of(a, s);
  const Dtype t = x.dtype();
  const int width = static_cast<int>(t.size()) * 8;
  for (int shift = 1; shift < width; shift *= 2)  // all bits below the first one are set
    x = bitwise_or(x, right_shift(x, array(uint64_t(shift), t), s), s);
  return astype(subtract(array(uint64_t(width), t), ones_of(x, s), s), a.dtype(), s);
}

array packbits(const array& a, int axis, bool little, StreamOrDevice s) {
  if (is_inexact(a.dtype()))
    fail("packbits", dtype_name(a.dtype()), "; bool and integers are accepted");
  axis = axis_in("packbits", a, axis);
  array x = moveaxis(astype(not_equal(a, constant(0, a.dtype()), s), uint8, s), axis, -1, s);
  const int rest = static_cast<int>((8 - x.shape(-1) % 8) % 8);
  if (rest > 0) {
    std::vector<std::pair<int, int>> widths(x.ndim(), {0, 0});
    widths.back().second = rest;
    x = pad(x, widths, constant(0, uint8), "constant", s);
  }
  x = unflatten(x, -1, {x.shape(-1) / 8, 8}, s);
  const array bytes = sum(left_shift(x, bit_positions(little, s), s), -1, false, s);
  return moveaxis(astype(bytes, uint8, s), -1, axis, s);
}

array unpackbits(const array& a, int axis, std::optional<int64_t> count, bool little,
                 StreamOrDevice s) {
  if (a.dtype() != uint8) fail("unpackbits", dtype_name(a.dtype()), "; uint8 is accepted");
  axis = axis_in("unpackbits", a, axis);
  const array x = expand_dims(moveaxis(a, axis, -1, s), -1, s);
  const array one = constant(1, uint8);
  array out = flatten(bitwise_and(right_shift(x, bit_positions(little, s), s), one, s), -2, -1, s);
  if (count) {
    const int64_t n = out.shape(-1), kept = *count < 0 ? n + *count : *count;
    if (kept < 0 || kept > n)
      fail("unpackbits", "count ", *count, " of ", n, " bits; at most all are accepted");
    Shape start(out.ndim(), 0), stop = out.shape();
    stop.back() = kept;
    out = slice(out, start, stop, s);
  }
  return moveaxis(out, -1, axis, s);
}

array ldexp(const array& a, const array& n, StreamOrDevice s) {
  if (is_inexact(n.dtype()))
    fail("ldexp", "a power of dtype ", dtype_name(n.dtype()), "; integers are accepted");
  const Dtype t = real_of("ldexp", a.dtype()), w = t == float64 ? float64 : float32;
  // Four factors reach from the largest number to below the smallest one. All but one are exact,
  // unless the result is subnormal: then the smallest factors come first.
  const int most = w == float64 ? 1000 : 120;
  const array whole = astype(clip(astype(n, int64, s), array(int64_t{-4 * most}, int64),
                                  array(int64_t{4 * most}, int64), s),
                             int32, s);
  array x = astype(a, w, s), rest = whole;
  for (int i = 0; i < 4; ++i) {
    const array step = clip(rest, array(-most, int32), array(most, int32), s);
    x = multiply(x, power_of_two(step, w, s), s);
    rest = subtract(rest, step, s);
  }
  return astype(x, t, s);
}

std::pair<array, array> frexp(const array& a, StreamOrDevice s) {
  const Dtype t = real_of("frexp", a.dtype()), w = t == float64 ? float64 : float32;
  const bool wide = w == float64;
  const Dtype bits = wide ? uint64 : uint32;
  const array x = astype(a, w, s), zero = constant(0, w);
  const array none = logical_or(equal(x, zero, s), logical_not(isfinite(x, s), s), s);
  // Subnormal numbers are multiplied by a power of two first.
  const int raise = wide ? 64 : 32, low = wide ? -1000 : -110;
  const array tiny = less(abs(x, s), power_of_two(array(low, int32), w, s), s);
  const array scale = where(tiny, power_of_two(array(raise, int32), w, s), constant(1, w), s);
  const array y = where(none, constant(1, w), multiply(x, scale, s), s);
  const array field = right_shift(view(stop_gradient(abs(y, s), s), bits, s),
                                  array(uint64_t(wide ? 52 : 23), bits), s);
  const array power = subtract(astype(field, int32, s), array(wide ? 1022 : 126, int32), s);
  const array back = where(tiny, array(raise, int32), array(0, int32), s);
  // The two halves of the power stay within the range of exponents.
  const array half = right_shift(power, array(1, int32), s);
  const array other = subtract(power, half, s);
  const array down =
      multiply(power_of_two(negative(half, s), w, s), power_of_two(negative(other, s), w, s), s);
  const array fraction = where(none, x, multiply(y, down, s), s);
  return {astype(fraction, t, s), where(none, array(0, int32), subtract(power, back, s), s)};
}

std::pair<array, array> modf(const array& a, StreamOrDevice s) {
  const Dtype t = real_of("modf", a.dtype());
  const array x = astype(a, t, s), whole = trunc(x, s);
  const array rest = where(isinf(x, s), constant(0, t), subtract(x, whole, s), s);
  return {copysign(rest, stop_gradient(x, s), s), whole};
}

array spacing(const array& a, StreamOrDevice s) {
  const Dtype t = real_of("spacing", a.dtype());
  const array x = stop_gradient(astype(a, t, s), s), size = abs(x, s);
  const array step = subtract(nextafter(size, constant(INFINITY, t), s), size, s);
  return where(isfinite(x, s), copysign(step, x, s), constant(NAN, t), s);
}

}  // namespace mlx::core
