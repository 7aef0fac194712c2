// Compositions of elementwise functions of NumPy.
#include "mlx/ops/numbers.h"

#include <numbers>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/standard.h"

namespace mlx::core {

namespace {

/// The promoted dtype of real operands.
Dtype common_real(const char* op, const array& a, const array& b) {
  const Dtype t = promote_types(a.dtype(), b.dtype());
  if (is_complex(t))
    fail(op, dtype_name(a.dtype()), " and ", dtype_name(b.dtype()), "; real dtypes are accepted");
  return t;
}
array zero_of(Dtype t) { return constant(0, t); }

/// The choice of `f`, or the other number where one is NaN.
array choice(const char* op, const array& a, const array& b, StreamOrDevice s,
             array (*f)(const array&, const array&, StreamOrDevice)) {
  const Dtype t = common_real(op, a, b);
  const array x = astype(a, t, s), y = astype(b, t, s);
  if (!is_floating(t)) return f(x, y, s);
  return where(isnan(x, s), y, where(isnan(y, s), x, f(x, y, s), s), s);
}

}  // namespace

array exp2(const array& a, StreamOrDevice s) {
  const array x = astype(a, at_least_float(a.dtype()), s);
  return power(constant(2, x.dtype()), x, s);
}

array fmax(const array& a, const array& b, StreamOrDevice s) {
  return choice("fmax", a, b, s, maximum);
}
array fmin(const array& a, const array& b, StreamOrDevice s) {
  return choice("fmin", a, b, s, minimum);
}

array fmod(const array& a, const array& b, StreamOrDevice s) {
  const Dtype t = common_real("fmod", a, b);
  const array x = astype(a, t, s), y = astype(b, t, s);
  if (is_floating(t)) {
    const array size = remainder(abs(x, s), abs(y, s), s);
    return where(signbit(x, s), negative(size, s), size, s);
  }
  const array r = remainder(x, y, s), zero = zero_of(t);
  if (t == bool_ || is_unsigned(t)) return r;
  const array other = not_equal(less(x, zero, s), less(r, zero, s), s);
  return where(logical_and(other, not_equal(r, zero, s), s), subtract(r, y, s), r, s);
}

array heaviside(const array& a, const array& b, StreamOrDevice s) {
  const Dtype t = at_least_float(common_real("heaviside", a, b));
  const array x = astype(a, t, s), zero = zero_of(t);
  const array step = where(less(x, zero, s), zero, where(isnan(x, s), x, constant(1, t), s), s);
  return where(equal(x, zero, s), astype(b, t, s), step, s);
}

array lcm(const array& a, const array& b, StreamOrDevice s) {
  const array divisor = gcd(a, b, s);
  const Dtype t = divisor.dtype();
  if (t == bool_) return bitwise_and(a, b, s);
  const array x = abs(astype(a, t, s), s), y = abs(astype(b, t, s), s);
  return multiply(floor_divide(x, divisor, s), y, s);
}

array logaddexp2(const array& a, const array& b, StreamOrDevice s) {
  const Dtype t = at_least_float(common_real("logaddexp2", a, b));
  const array factor = constant(std::numbers::ln2, t);
  const array x = multiply(astype(a, t, s), factor, s), y = multiply(astype(b, t, s), factor, s);
  return multiply(logaddexp(x, y, s), constant(1 / std::numbers::ln2, t), s);
}

array angle(const array& a, StreamOrDevice s) {
  const array x = astype(a, at_least_float(a.dtype()), s);
  if (is_complex(x.dtype())) return arctan2(imag(x, s), real(x, s), s);
  const array zero = zero_of(x.dtype()), turned = constant(std::numbers::pi, x.dtype());
  return where(isnan(x, s), x, where(less(x, zero, s), turned, zero, s), s);
}

}  // namespace mlx::core
