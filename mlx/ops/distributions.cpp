// Distributions by transformations of uniform and normal numbers.
#include "mlx/ops/distributions.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "mlx/core/error.h"
#include "mlx/linalg.h"
#include "mlx/ops.h"
#include "mlx/ops/draw.h"

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
array scaled_and_shifted(const char* op, const array& x, const array& loc, const array& scale,
                         Dtype dtype, StreamOrDevice s) {
  const array b = parameter(op, scale, x.shape(), x.dtype(), s);
  const array a = parameter(op, loc, x.shape(), x.dtype(), s);
  return astype(add(a, multiply(b, x, s), s), dtype, s);
}

/// Numbers with the density exp(-x).
array unit_exponential(const Shape& shape, Dtype t, const OptionalKey& key, StreamOrDevice s) {
  return negative(log1p(negative(uniform(shape, t, key, s), s), s), s);
}

array key_of(const OptionalKey& key) { return key ? *key : KeySequence::current().next(); }

/// Numbers by rejection, of parameters that broadcast to the shape.
array drawn(const char* op, Draw kind, const std::vector<array>& parameters, const Shape& shape,
            const OptionalKey& key, StreamOrDevice s) {
  std::vector<array> wide;
  for (const array& p : parameters)
    wide.push_back(broadcast_to(parameter(op, p, shape, float64, s), shape, s));
  return draw(kind, key_of(key), wide, to_stream(s));
}
array log_gamma(const char* op, const array& a, const Shape& shape, const OptionalKey& key,
                StreamOrDevice s) {
  return drawn(op, Draw::log_gamma, {a}, shape, key, s);
}
/// The logarithm of chisquare(df) / df.
array log_mean_square(const char* op, const array& df, const Shape& shape, const array& key,
                      StreamOrDevice s) {
  const array half = multiply(parameter(op, df, shape, float64, s), constant(0.5, float64), s);
  return subtract(log_gamma(op, half, shape, key, s), log(half, s), s);
}

/// The dtype of counts.
Dtype counting(const char* op, Dtype dtype) {
  if (dtype == bool_ || is_complex(dtype))
    fail(op, "dtype ", dtype_name(dtype), "; integer and real floating dtypes are accepted");
  return dtype;
}

/// A shape with the length of the last axis of a parameter, which has one.
Shape with_last(const char* op, const array& a, Shape shape) {
  if (a.ndim() == 0 || a.shape(-1) == 0)
    fail(op, "a parameter of shape ", to_string(a.shape()),
         "; at least one number along the last axis is accepted");
  shape.push_back(a.shape(-1));
  return shape;
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
  return scaled_and_shifted("exponential", x, constant(0, t), scale, dtype, s);
}

array cauchy(const Shape& shape, Dtype dtype, const array& loc, const array& scale,
             const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("cauchy", dtype);
  const array u = subtract(uniform(shape, t, key, s), constant(0.5, t), s);
  const array x = tan(multiply(u, constant(std::numbers::pi, t), s), s);
  return scaled_and_shifted("cauchy", x, loc, scale, dtype, s);
}

array logistic(const Shape& shape, Dtype dtype, const array& loc, const array& scale,
               const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("logistic", dtype);
  // A word of zeros counts as half of the smallest step.
  const array smallest = constant(t == float64 ? 0x1p-54 : 0x1p-33, t);
  const array u = maximum(uniform(shape, t, key, s), smallest, s);
  const array x = subtract(log(u, s), log1p(negative(u, s), s), s);
  return scaled_and_shifted("logistic", x, loc, scale, dtype, s);
}

array lognormal(const Shape& shape, Dtype dtype, const array& mean, const array& sigma,
                const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("lognormal", dtype);
  const array x = normal(shape, t, std::nullopt, std::nullopt, key, s);
  return astype(exp(scaled_and_shifted("lognormal", x, mean, sigma, t, s), s), dtype, s);
}

array rayleigh(const Shape& shape, Dtype dtype, const array& scale, const OptionalKey& key,
               StreamOrDevice s) {
  const Dtype t = working("rayleigh", dtype);
  const array x = unit_exponential(shape, t, key, s);
  const array root = sqrt(multiply(x, constant(2, t), s), s);
  return scaled_and_shifted("rayleigh", root, constant(0, t), scale, dtype, s);
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

array gamma(const array& a, const Shape& shape, Dtype dtype, const array& scale,
            const OptionalKey& key, StreamOrDevice s) {
  working("gamma", dtype);
  const array x = exp(log_gamma("gamma", a, shape, key, s), s);
  return scaled_and_shifted("gamma", x, constant(0, float64), scale, dtype, s);
}
array loggamma(const array& a, const Shape& shape, Dtype dtype, const OptionalKey& key,
               StreamOrDevice s) {
  working("loggamma", dtype);
  return astype(log_gamma("loggamma", a, shape, key, s), dtype, s);
}

array beta(const array& a, const array& b, const Shape& shape, Dtype dtype, const OptionalKey& key,
           StreamOrDevice s) {
  working("beta", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  // The ratio x / (x + y) of gamma variates, of which both may be too small for a dtype.
  const array x = log_gamma("beta", a, shape, first, s);
  return astype(sigmoid(subtract(x, log_gamma("beta", b, shape, second, s), s), s), dtype, s);
}

array dirichlet(const array& alpha, const Shape& shape, Dtype dtype, const OptionalKey& key,
                StreamOrDevice s) {
  working("dirichlet", dtype);
  const Shape all = with_last("dirichlet", alpha, shape);
  return astype(softmax(log_gamma("dirichlet", alpha, all, key, s), -1, true, s), dtype, s);
}

array chisquare(const array& df, const Shape& shape, Dtype dtype, const OptionalKey& key,
                StreamOrDevice s) {
  working("chisquare", dtype);
  const array half =
      multiply(parameter("chisquare", df, shape, float64, s), constant(0.5, float64), s);
  const array x = exp(log_gamma("chisquare", half, shape, key, s), s);
  return astype(multiply(x, constant(2, float64), s), dtype, s);
}

array student_t(const array& df, const Shape& shape, Dtype dtype, const OptionalKey& key,
                StreamOrDevice s) {
  const Dtype t = working("student_t", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  const array x = normal(shape, t, std::nullopt, std::nullopt, first, s);
  const array size = log_mean_square("student_t", df, shape, second, s);
  const array root = exp(multiply(size, constant(-0.5, float64), s), s);
  return astype(multiply(astype(x, float64, s), root, s), dtype, s);
}

array f(const array& dfnum, const array& dfden, const Shape& shape, Dtype dtype,
        const OptionalKey& key, StreamOrDevice s) {
  working("f", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  const array top = log_mean_square("f", dfnum, shape, first, s);
  return astype(exp(subtract(top, log_mean_square("f", dfden, shape, second, s), s), s), dtype, s);
}

array pareto(const array& a, const Shape& shape, Dtype dtype, const OptionalKey& key,
             StreamOrDevice s) {
  const Dtype t = working("pareto", dtype);
  const array x = unit_exponential(shape, t, key, s);
  return astype(exp(divide(x, parameter("pareto", a, shape, t, s), s), s), dtype, s);
}

array vonmises(const array& mu, const array& kappa, const Shape& shape, Dtype dtype,
               const OptionalKey& key, StreamOrDevice s) {
  working("vonmises", dtype);
  const array turned = add(drawn("vonmises", Draw::von_mises, {kappa}, shape, key, s),
                           parameter("vonmises", mu, shape, float64, s), s);
  const array period = constant(2 * std::numbers::pi, float64);
  const array turns = multiply(rint(divide(turned, period, s), s), period, s);
  return astype(subtract(turned, stop_gradient(turns, s), s), dtype, s);
}

array wald(const array& mean, const array& scale, const Shape& shape, Dtype dtype,
           const OptionalKey& key, StreamOrDevice s) {
  working("wald", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  const array mu = parameter("wald", mean, shape, float64, s);
  const array lambda = parameter("wald", scale, shape, float64, s);
  // Michael, Schucany and Haas (1976): the roots of a quadratic equation, chosen by their weights.
  // The smaller root is computed without cancellation.
  const array y = square(normal(shape, float64, std::nullopt, std::nullopt, first, s), s);
  const array half = divide(multiply(mu, y, s), multiply(lambda, constant(2, float64), s), s);
  const array one = constant(1, float64);
  const array root = sqrt(multiply(half, add(half, constant(2, float64), s), s), s);
  const array ratio = reciprocal(add(add(one, half, s), root, s), s);
  const array low = multiply(mu, ratio, s), high = divide(mu, ratio, s);
  const array u = uniform(shape, float64, second, s);
  const array chosen = less_equal(multiply(u, add(one, ratio, s), s), one, s);
  return astype(where(chosen, low, high, s), dtype, s);
}

array generalized_normal(const array& p, const Shape& shape, Dtype dtype, const OptionalKey& key,
                         StreamOrDevice s) {
  working("generalized_normal", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  const array inverse = reciprocal(parameter("generalized_normal", p, shape, float64, s), s);
  const array size = log_gamma("generalized_normal", inverse, shape, first, s);
  const array x = exp(multiply(size, inverse, s), s);
  return astype(multiply(x, rademacher(shape, float64, second, s), s), dtype, s);
}

array double_sided_maxwell(const array& loc, const array& scale, const Shape& shape, Dtype dtype,
                           const OptionalKey& key, StreamOrDevice s) {
  const Dtype t = working("double_sided_maxwell", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  Shape parts = shape;
  parts.push_back(3);
  const array x = normal(parts, t, std::nullopt, std::nullopt, first, s);
  const array size = sqrt(sum(square(x, s), -1, false, s), s);
  return scaled_and_shifted("double_sided_maxwell",
                            multiply(size, rademacher(shape, t, second, s), s), loc, scale, dtype,
                            s);
}

array ball(int64_t d, double p, const Shape& shape, Dtype dtype, const OptionalKey& key,
           StreamOrDevice s) {
  working("ball", dtype);
  if (d < 1 || !(p > 0))
    fail("ball", d, " coordinates and order ", p, "; positive numbers are accepted");
  const auto [first, second] = random::split(key_of(key), s);
  Shape all = shape;
  all.push_back(d);
  const array x = generalized_normal(constant(p, float64), all, float64, first, s);
  const array size = sum(power(abs(x, s), constant(p, float64), s), -1, false, s);
  const array whole = add(size, unit_exponential(shape, float64, second, s), s);
  const array radius = power(whole, constant(1 / p, float64), s);
  return astype(divide(x, expand_dims(radius, -1, s), s), dtype, s);
}

array orthogonal(int64_t n, const Shape& shape, Dtype dtype, const OptionalKey& key,
                 StreamOrDevice s) {
  if (!is_inexact(dtype)) working("orthogonal", dtype);
  if (n < 0) fail("orthogonal", n, " rows; numbers from 0 are accepted");
  const Dtype t = dtype.size() == 2 ? float32 : dtype;
  Shape all = shape;
  all.push_back(n);
  all.push_back(n);
  const auto [q, r] = linalg::qr(normal(all, t, std::nullopt, std::nullopt, key, s), s);
  const array d = diagonal(r, 0, -2, -1, s), none = equal(d, constant(0, t), s);
  const array size = astype(abs(d, s), t, s), one = constant(1, t);
  const array phase = where(none, one, divide(d, where(none, one, size, s), s), s);
  return astype(multiply(q, expand_dims(phase, -2, s), s), dtype, s);
}

array poisson(const array& lam, const Shape& shape, Dtype dtype, const OptionalKey& key,
              StreamOrDevice s) {
  counting("poisson", dtype);
  return astype(drawn("poisson", Draw::poisson, {lam}, shape, key, s), dtype, s);
}

array binomial(const array& n, const array& p, const Shape& shape, Dtype dtype,
               const OptionalKey& key, StreamOrDevice s) {
  counting("binomial", dtype);
  return astype(drawn("binomial", Draw::binomial, {n, p}, shape, key, s), dtype, s);
}

array negative_binomial(const array& n, const array& p, const Shape& shape, Dtype dtype,
                        const OptionalKey& key, StreamOrDevice s) {
  counting("negative_binomial", dtype);
  const auto [first, second] = random::split(key_of(key), s);
  const array q = parameter("negative_binomial", p, shape, float64, s);
  const array odds = divide(subtract(constant(1, float64), q, s), q, s);
  const array rate = multiply(exp(log_gamma("negative_binomial", n, shape, first, s), s), odds, s);
  return astype(drawn("negative_binomial", Draw::poisson, {rate}, shape, second, s), dtype, s);
}

array multinomial(const array& n, const array& p, const Shape& shape, Dtype dtype,
                  const OptionalKey& key, StreamOrDevice s) {
  counting("multinomial", dtype);
  const Shape all = with_last("multinomial", p, shape);
  const int64_t k = p.shape(-1);
  const array q = broadcast_to(parameter("multinomial", p, all, float64, s), all, s);
  array left = broadcast_to(parameter("multinomial", n, shape, float64, s), shape, s);
  const array keys = random::split(key_of(key), static_cast<int>(k), s);
  // Each result has a binomial count of the trials that are left, by its share of what is left.
  const array rest = cumsum(q, -1, true, true, s);
  const array zero = constant(0, float64), one = constant(1, float64);
  std::vector<array> counts;
  for (int64_t i = 0; i + 1 < k; ++i) {
    const array whole = take(rest, i, -1, s), none = less_equal(whole, zero, s);
    const array share = divide(take(q, i, -1, s), where(none, one, whole, s), s);
    const array within = minimum(where(none, zero, share, s), one, s);
    counts.push_back(
        drawn("multinomial", Draw::binomial, {left, within}, shape, take(keys, i, 0, s), s));
    left = subtract(left, counts.back(), s);
  }
  counts.push_back(left);
  return astype(stack(counts, -1, s), dtype, s);
}

}  // namespace mlx::core::random
