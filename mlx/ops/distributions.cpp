// Distributions by transformations of uniform and normal numbers.
#include "mlx/ops/distributions.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core::random {

namespace {

/// The dtype of the computation.
Dtype working(const char* op, Dtype dtype) {
  if (!is_floating(dtype))
    fail(op, "dtype ", dtype_name(dtype), "; real floating dtypes are accepted");
  return dtype == float64 ? float64 : float32;
}

/// A parameter in the dtype of the computation, which broadcasts to the shape.
array parameter(const char* op, const array& v, const Shape& shape, Dtype t, StreamOrDevice s) {
  if (v.ndim() > shape.size() || broadcast_shapes(v.shape(), shape, op) != shape)
    fail(op, "a parameter of shape ", to_string(v.shape()), " for the shape ", to_string(shape),
         "; it must broadcast to it");
  return astype(v, t, s);
}

/// loc + scale * x, in the dtype of the result.
array scaled(const char* op, const array& x, const array& loc, const array& scale, Dtype dtype,
             StreamOrDevice s) {
  const array b = parameter(op, scale, x.shape(), x.dtype(), s);
  const array a = parameter(op, loc, x.shape(), x.dtype(), s);
  return astype(add(a, multiply(b, x, s), s), dtype, s);
}

/// Numbers with the density exp(-x).
array unit_exponential(const Shape& shape, Dtype t, const OptionalKey& key, StreamOrDevice s) {
  return negative(log1p(negative(uniform(shape, t, key, s), s), s), s);
}

}  // namespace

array fold_in(const array& key, uint64_t number, StreamOrDevice s) {
  const uint32_t words[] = {static_cast<uint32_t>(number >> 32), static_cast<uint32_t>(number)};
  // The key is scrambled before the number changes it: neighbouring keys must not meet.
  const array scrambled = bits({2}, 4, key, s);
  return bits({2}, 4, bitwise_xor(scrambled, array(words, {2}, uint32), s), s);
}

array exponential(const Shape& shape, Dtype dtype, const array& scale, const OptionalKey& key,
                  StreamOrDevice s) {
  const Dtype t = working("exponential", dtype);
  const array x = unit_exponential(shape, t, key, s);
  return scaled("exponential", x, constant(0, t), scale, dtype, s);
}

array cauchy(const Shape& shape, Dtype dtype, const array& loc, const array& scale,
             const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("cauchy", dtype);
  const array u = subtract(uniform(shape, t, key, s), constant(0.5, t), s);
  const array x = tan(multiply(u, constant(std::numbers::pi, t), s), s);
  return scaled("cauchy", x, loc, scale, dtype, s);
}

array logistic(const Shape& shape, Dtype dtype, const array& loc, const array& scale,
               const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("logistic", dtype);
  // A word of zeros counts as half of the smallest step.
  const array smallest = constant(t == float64 ? 0x1p-54 : 0x1p-33, t);
  const array u = maximum(uniform(shape, t, key, s), smallest, s);
  const array x = subtract(log(u, s), log1p(negative(u, s), s), s);
  return scaled("logistic", x, loc, scale, dtype, s);
}

array lognormal(const Shape& shape, Dtype dtype, const array& mean, const array& sigma,
                const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("lognormal", dtype);
  const array x = normal(shape, t, std::nullopt, std::nullopt, key, s);
  return astype(exp(scaled("lognormal", x, mean, sigma, t, s), s), dtype, s);
}

array rayleigh(const Shape& shape, Dtype dtype, const array& scale, const OptionalKey& key,
               StreamOrDevice s) {
  const Dtype t = working("rayleigh", dtype);
  const array x = unit_exponential(shape, t, key, s);
  const array root = sqrt(multiply(x, constant(2, t), s), s);
  return scaled("rayleigh", root, constant(0, t), scale, dtype, s);
}

array weibull(const array& a, const Shape& shape, Dtype dtype, const OptionalKey& key,
              StreamOrDevice s) {
  const Dtype t = working("weibull", dtype);
  const array b = reciprocal(parameter("weibull", a, shape, t, s), s);
  return astype(power(unit_exponential(shape, t, key, s), b, s), dtype, s);
}

array triangular(const array& left, const array& mode, const array& right, const Shape& shape,
                 Dtype dtype, const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("triangular", dtype);
  const array low = parameter("triangular", left, shape, t, s);
  const array middle = parameter("triangular", mode, shape, t, s);
  const array high = parameter("triangular", right, shape, t, s);
  const array u = uniform(shape, t, key, s), one = constant(1, t);
  const array width = subtract(high, low, s), rise = subtract(middle, low, s);
  const array fall = subtract(high, middle, s), rising = less(multiply(u, width, s), rise, s);
  // One root for both sides: its argument is positive on the side that is chosen.
  const array part = where(rising, multiply(u, rise, s), multiply(subtract(one, u, s), fall, s), s);
  const array step = sqrt(multiply(part, width, s), s);
  return astype(where(rising, add(low, step, s), subtract(high, step, s), s), dtype, s);
}

array geometric(const array& p, const Shape& shape, Dtype dtype, const OptionalKey& key,
                StreamOrDevice s) {
  const array q = parameter("geometric", p, shape, float32, s);
  const array x = unit_exponential(shape, float32, key, s);
  const array trials = ceil(divide(x, negative(log1p(negative(q, s), s), s), s), s);
  return astype(stop_gradient(maximum(trials, constant(1, float32), s), s), dtype, s);
}

array rademacher(const Shape& shape, Dtype dtype, const OptionalKey& key, StreamOrDevice s) {
  if (dtype == bool_ || is_unsigned(dtype))
    fail("rademacher", "dtype ", dtype_name(dtype), "; dtypes with negative numbers are accepted");
  const array heads = bernoulli(array(0.5f), shape, key, s);
  return where(heads, constant(1, dtype), constant(-1, dtype), s);
}

array choice(int64_t n, const Shape& shape, bool replace, const std::optional<array>& p,
             const OptionalKey& key, StreamOrDevice s) {
  int64_t wanted = 1;
  for (const int64_t length : shape) wanted *= length;
  if (p && (p->ndim() != 1 || p->shape(0) != n || !is_floating(p->dtype())))
    fail("choice", "probabilities of shape ", to_string(p->shape()), " and dtype ",
         dtype_name(p->dtype()), " for ", n, " items; a floating number for each is accepted");
  if (wanted > 0 && n < 1) fail("choice", "no items to choose from; at least one is accepted");
  if (!replace && wanted > n)
    fail("choice", wanted, " of ", n, " items without replacement; at most all are accepted");
  if (!p && replace)
    return astype(randint(constant(0, int64), array(n, int64), shape, int64, key, s), uint32, s);
  if (!p) return reshape(slice(permutation(n, key, s), {0}, {wanted}, s), shape, s);
  const array logits = log(astype(*p, float32, s), s);
  if (replace) return reshape(categorical(logits, 0, static_cast<int>(wanted), key, s), shape, s);
  // The largest sums with Gumbel numbers are a sample in the order of drawing.
  const array order = argsort(negative(add(logits, gumbel({n}, float32, key, s), s), s), 0, s);
  return reshape(slice(order, {0}, {wanted}, s), shape, s);
}

}  // namespace mlx::core::random
