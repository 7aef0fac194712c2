// Compositions of special functions.
#include "mlx/ops/special.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/standard.h"

namespace mlx::core::special {

namespace {

/// The floating dtype of the result for operands.
Dtype floating_of(const char* op, Dtype t) {
  if (is_complex(t)) fail(op, dtype_name(t), "; real dtypes are accepted");
  return at_least_float(t);
}
/// The dtype of the computation for a dtype of results.
Dtype wide_of(Dtype t) { return t.size() == 2 ? float32 : t; }

/// `f` of an operand in the dtype of the computation.
template <class F>
array unary_formula(const char* op, const array& a, StreamOrDevice stream, F f) {
  const Dtype t = floating_of(op, a.dtype());
  const Stream s = to_stream(stream);
  return astype(f(astype(a, wide_of(t), s), s), t, s);
}
/// The same for two operands, which are promoted.
template <class F>
array binary_formula(const char* op, const array& a, const array& b, StreamOrDevice stream, F f) {
  const Dtype t = floating_of(op, promote_types(a.dtype(), b.dtype())), w = wide_of(t);
  const Stream s = to_stream(stream);
  return astype(f(astype(a, w, s), astype(b, w, s), s), t, s);
}

/// `f` of an operand in float64.
template <class F>
array unary_in_double(const char* op, const array& a, StreamOrDevice stream, F f) {
  const Dtype t = floating_of(op, a.dtype());
  const Stream s = to_stream(stream);
  return astype(f(astype(a, float64, s), s), t, s);
}

array number(double v, const array& beside) { return constant(v, beside.dtype()); }
array zero_for(const array& a) { return number(0, a); }
array is_zero(const array& a, Stream s) { return equal(a, zero_for(a), s); }

constexpr int kTerms = 10;  // of the sum, before Euler and Maclaurin's correction
/// B(2k) / (2k)!.
constexpr double kBernoulli[] = {1.0 / 12,          -1.0 / 720,
                                 1.0 / 30240,       -1.0 / 1209600,
                                 1.0 / 47900160,    -691.0 / 1307674368000,
                                 1.0 / 74724249600, -3617.0 / 10670622842880000};

/// The sum of (q + k)^-p over k = 0, 1, .., for q > 0 and p > 1.
array power_sum(const array& p, const array& q, Stream s) {
  const array down = negative(p, s);
  array sum = power(q, down, s);
  for (int k = 1; k < kTerms; ++k) sum = add(sum, power(add(q, number(k, q), s), down, s), s);
  const array x = add(q, number(kTerms, q), s), last = power(x, down, s);
  const array rest = divide(multiply(last, x, s), subtract(p, number(1, p), s), s);
  sum = add(add(sum, rest, s), multiply(last, number(0.5, last), s), s);
  // factor = p (p + 1) .. (p + 2k - 2) x^(-p - 2k + 1)
  const array inverse = reciprocal(x, s), square_inverse = square(inverse, s);
  array factor = multiply(multiply(p, inverse, s), last, s);
  for (int k = 1; const double b : kBernoulli) {
    sum = add(sum, multiply(factor, number(b, factor), s), s);
    const array next = multiply(add(p, number(2 * k - 1, p), s), add(p, number(2 * k, p), s), s);
    factor = multiply(multiply(factor, next, s), square_inverse, s);
    ++k;
  }
  return sum;
}

/// The derivative of order n >= 1 of digamma for x > 0.
array positive_polygamma(int n, const array& x, Stream s) {
  const double sign = n % 2 == 0 ? -1 : 1;
  const array sum = power_sum(number(n + 1, x), x, s);
  return multiply(sum, number(sign * std::tgamma(n + 1.0), x), s);
}

/// log(1 - 1 / x^2 + 3 / x^4 - ..): a correction of the normal distribution's tail.
array tail_correction(const array& x, Stream s) {
  const array inverse = square(reciprocal(x, s), s);
  array r = number(10395, x);
  for (const double c : {-945.0, 105.0, -15.0, 3.0, -1.0})
    r = add(multiply(r, inverse, s), number(c, x), s);
  return log1p(multiply(r, inverse, s), s);
}

/// x log y by a function that takes the logarithm.
template <class F>
array times_log(const char* op, const array& x, const array& y, StreamOrDevice stream, F f) {
  return binary_formula(op, x, y, stream, [&](const array& a, const array& b, Stream s) {
    const array none = logical_and(is_zero(a, s), logical_not(isnan(b, s), s), s);
    const array safe = where(none, number(1, b), b, s);
    return where(none, zero_for(a), multiply(a, f(safe, s), s), s);
  });
}

/// x log(x / y), with `rest` added, where both are positive; the limits elsewhere.
template <class F>
array relative(const char* op, const array& x, const array& y, StreamOrDevice stream, F rest) {
  return binary_formula(op, x, y, stream, [&](const array& a, const array& b, Stream s) {
    const array zero = zero_for(a), one = number(1, a);
    const array both = logical_and(greater(a, zero, s), greater(b, zero, s), s);
    const array u = where(both, a, one, s), v = where(both, b, one, s);
    const array inside = add(multiply(u, log(divide(u, v, s), s), s), rest(u, v, s), s);
    const array edge = logical_and(is_zero(a, s), greater_equal(b, zero, s), s);
    const array outside = where(edge, rest(zero, b, s), number(INFINITY, a), s);
    const array limits = where(logical_or(isnan(a, s), isnan(b, s), s), add(a, b, s), outside, s);
    return where(both, inside, limits, s);
  });
}

/// The polynomial with these coefficients, the highest power first.
array horner(std::span<const double> coefficients, const array& x, Stream s) {
  array sum = number(coefficients[0], x);
  for (const double c : coefficients.subspan(1)) sum = add(multiply(sum, x, s), number(c, x), s);
  return sum;
}

/// I(x) / x^order as a power series in x^2 / 4 for |x| up to `end`.
std::vector<double> bessel_series(int order, double end) {
  std::vector<double> c{1};
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    c.push_back(c.back() / (k * (k + order)));
    term *= end * end / 4 / (k * (k + order));
    sum += term;
  }
  std::ranges::reverse(c);
  if (order == 1)
    for (double& v : c) v /= 2;
  return c;
}
/// I(x) sqrt(2 pi x) exp(-x) as an asymptotic series in 1 / x from `start` on (DLMF 10.40.1).
std::vector<double> bessel_tail(int order, double start, double precision) {
  std::vector<double> c{1};
  for (int k = 1; std::abs(c.back()) * std::pow(start, 1 - k) > precision && k < 2 * start; ++k)
    c.push_back(c.back() * -(4.0 * order - (2 * k - 1) * (2 * k - 1)) / (8 * k));
  std::ranges::reverse(c);
  return c;
}

/// exp(x^2) erfc(x) for x of at least 3, by Laplace's continued fraction.
array erfc_fraction(const array& x, Stream s) {
  array tail = x;
  for (int k = 24; k > 0; --k) tail = add(x, divide(number(k / 2.0, x), tail, s), s);
  return divide(number(std::numbers::inv_sqrtpi, x), tail, s);
}

/// The number above which a normal variate is with probability q, for q up to 0.1.
array normal_tail(const array& q, Stream s) {
  const array log_q = log(q, s), half = number(0.5, q);
  const array w = sqrt(multiply(log_q, number(-2, q), s), s);
  const array shift = add(log(w, s), number(0.5 * std::log(2 * std::numbers::pi), q), s);
  array x = subtract(w, divide(shift, w, s), s);
  // Newton's method for the logarithm of the probability.
  for (int i = 0; i < 5; ++i) {
    const array p = multiply(erfc(multiply(x, number(std::numbers::sqrt2 / 2, x), s), s), half, s);
    const array density = multiply(exp(multiply(square(x, s), number(-0.5, x), s), s),
                                   number(std::numbers::inv_sqrtpi / std::numbers::sqrt2, x), s);
    x = add(x, multiply(subtract(log(p, s), log_q, s), divide(p, density, s), s), s);
  }
  return x;
}

}  // namespace

array zeta(const array& p, const array& q, StreamOrDevice stream) {
  return binary_formula("zeta", p, q, stream, [](const array& a, const array& b, Stream s) {
    const array one = number(1, a), two = number(2, a);
    const array usual = logical_and(greater(a, one, s), greater(b, zero_for(b), s), s);
    const array sum = power_sum(where(usual, a, two, s), where(usual, b, one, s), s);
    const array pole =
        logical_or(equal(a, one, s), logical_and(is_zero(b, s), greater(a, one, s), s), s);
    const array wrong = logical_or(isnan(a, s), isnan(b, s), s);
    const array limit =
        where(logical_and(pole, logical_not(wrong, s), s), number(INFINITY, a), number(NAN, a), s);
    return where(usual, sum, limit, s);
  });
}

array polygamma(int n, const array& a, StreamOrDevice stream) {
  if (n < 0 || n > 100) fail("polygamma", "order ", n, "; 0 to 100 is accepted");
  if (n == 0) return digamma(a, stream);
  return unary_formula("polygamma", a, stream, [n](const array& x, Stream s) {
    const array zero = zero_for(x), one = number(1, x);
    const array positive = greater(x, zero, s), pole = is_zero(x, s);
    if (n > 1) {
      const array sum = positive_polygamma(n, where(positive, x, one, s), s);
      const array limit = number(n % 2 == 0 ? -INFINITY : INFINITY, x);
      return where(positive, sum, where(pole, limit, number(NAN, x), s), s);
    }
    // polygamma(1, x) + polygamma(1, 1 - x) = (pi / sin(pi x))^2
    const array low = less(x, number(0.5, x), s);
    const array sum = positive_polygamma(1, where(low, subtract(one, x, s), x, s), s);
    const array off = subtract(x, rint(x, s), s);
    const array angle =
        multiply(where(low, off, number(0.5, x), s), number(std::numbers::pi, x), s);
    const array turned = square(divide(number(std::numbers::pi, x), sin(angle, s), s), s);
    return where(low, subtract(turned, sum, s), sum, s);
  });
}

array gamma(const array& a, StreamOrDevice stream) {
  const Dtype t = floating_of("gamma", a.dtype());
  const Stream s = to_stream(stream);
  // exp multiplies the error of a logarithm by its size, which double precision covers.
  const array x = astype(a, float64, s), zero = zero_for(x);
  const array half = multiply(floor(x, s), number(0.5, x), s);
  const array odd = not_equal(half, floor(half, s), s), below = less(x, zero, s);
  const array size = exp(lgamma(x, s), s);
  const array signed_size = where(logical_and(below, odd, s), negative(size, s), size, s);
  const array pole = logical_and(below, equal(x, floor(x, s), s), s);
  const array origin = copysign(number(INFINITY, x), x, s);
  return astype(where(pole, number(NAN, x), where(is_zero(x, s), origin, signed_size, s), s), t, s);
}

array betaln(const array& a, const array& b, StreamOrDevice stream) {
  return binary_formula("betaln", a, b, stream, [](const array& x, const array& y, Stream s) {
    return subtract(add(lgamma(x, s), lgamma(y, s), s), lgamma(add(x, y, s), s), s);
  });
}
array beta(const array& a, const array& b, StreamOrDevice stream) {
  const Dtype t = floating_of("beta", promote_types(a.dtype(), b.dtype()));
  const Stream s = to_stream(stream);
  return astype(exp(betaln(astype(a, float64, s), astype(b, float64, s), s), s), t, s);
}

array multigammaln(const array& a, int d, StreamOrDevice stream) {
  if (d < 1) fail("multigammaln", "dimension ", d, "; numbers from 1 are accepted");
  return unary_formula("multigammaln", a, stream, [d](const array& x, Stream s) {
    array sum = number(d * (d - 1) / 4.0 * std::log(std::numbers::pi), x);
    for (int i = 0; i < d; ++i) sum = add(sum, lgamma(subtract(x, number(i / 2.0, x), s), s), s);
    return sum;
  });
}

array ndtr(const array& a, StreamOrDevice stream) {
  return unary_formula("ndtr", a, stream, [](const array& x, Stream s) {
    return multiply(erfc(multiply(x, number(-std::numbers::sqrt2 / 2, x), s), s), number(0.5, x),
                    s);
  });
}

array log_ndtr(const array& a, StreamOrDevice stream) {
  return unary_formula("log_ndtr", a, stream, [](const array& x, Stream s) {
    // Below `far`, where erfc is about to vanish, its asymptotic series is exact.
    const array far = number(x.dtype() == float64 ? -30 : -10, x), near = number(-1, x);
    const array root = number(std::numbers::sqrt2 / 2, x), half = number(0.5, x);
    auto upper = [&](const array& v) { return multiply(erfc(multiply(v, root, s), s), half, s); };
    const array middle = minimum(maximum(x, far, s), near, s);
    const array high = log1p(negative(upper(maximum(x, near, s)), s), s);
    const array low = log(upper(negative(middle, s)), s);
    const array t = minimum(x, far, s);
    const array tail = subtract(
        subtract(tail_correction(t, s), multiply(square(t, s), half, s), s),
        add(log(negative(t, s), s), number(0.5 * std::log(2 * std::numbers::pi), t), s), s);
    return where(greater(x, near, s), high, where(less(x, far, s), tail, low, s), s);
  });
}

array erfcx(const array& a, StreamOrDevice stream) {
  return unary_in_double("erfcx", a, stream, [](const array& x, Stream s) {
    const array border = number(3, x), large = greater_equal(x, border, s);
    const array y = where(large, border, x, s);
    // The square as that of a short number, which is exact, and a rest.
    const array wide = multiply(rint(multiply(y, number(32, y), s), s), number(1.0 / 32, y), s);
    const array rest = multiply(subtract(y, wide, s), add(y, wide, s), s);
    const array low = multiply(multiply(exp(square(wide, s), s), erfc(y, s), s), exp(rest, s), s);
    return where(large, erfc_fraction(where(large, x, border, s), s), low, s);
  });
}

array ndtri(const array& a, StreamOrDevice stream) {
  return unary_in_double("ndtri", a, stream, [](const array& p, Stream s) {
    const array half = number(0.5, p), border = number(0.1, p), one = number(1, p);
    const array high = greater(p, half, s), q = where(high, subtract(one, p, s), p, s);
    const array inside = greater(q, zero_for(q), s), central = greater(q, border, s);
    const array tail =
        normal_tail(where(logical_and(inside, less(q, border, s), s), q, border, s), s);
    const array middle = subtract(multiply(where(central, p, half, s), number(2, p), s), one, s);
    const array near = multiply(erfinv(middle, s), number(std::numbers::sqrt2, p), s);
    const array limit = where(is_zero(q, s), number(INFINITY, p), number(NAN, p), s);
    const array far = where(inside, tail, limit, s);
    return where(central, near, where(high, far, negative(far, s), s), s);
  });
}

array exprel(const array& a, StreamOrDevice stream) {
  return unary_in_double("exprel", a, stream, [](const array& x, Stream s) {
    std::vector<double> c;
    for (int k = 14; k >= 0; --k) c.push_back(1 / std::tgamma(k + 2.0));
    const array border = number(0.4, x), small = less(abs(x, s), border, s);
    const array y = where(small, border, x, s);
    return where(small, horner(c, where(small, x, border, s), s), divide(expm1(y, s), y, s), s);
  });
}

array bessel_i(int order, bool scaled, const array& a, StreamOrDevice stream) {
  if (order != 0 && order != 1) fail("bessel_i", "order ", order, "; 0 and 1 are accepted");
  const bool wide = a.dtype() == float64;
  const double end = wide ? 30 : 12;
  const char* const names[] = {"i0", "i0e", "i1", "i1e"};
  return unary_in_double(names[2 * order + scaled], a, stream, [=](const array& x, Stream s) {
    const array border = number(end, x), size = abs(x, s), small = less(size, border, s);
    const array y = where(small, x, zero_for(x), s), z = where(small, border, size, s);
    array low = horner(bessel_series(order, end), multiply(square(y, s), number(0.25, y), s), s);
    if (order == 1) low = multiply(low, y, s);
    if (scaled) low = multiply(low, exp(negative(abs(y, s), s), s), s);
    const array root = rsqrt(multiply(z, number(2 * std::numbers::pi, z), s), s);
    const std::vector<double> tail = bessel_tail(order, end, wide ? 1e-17 : 1e-9);
    array high = multiply(horner(tail, reciprocal(z, s), s), root, s);
    if (!scaled) {  // in two factors, of which neither overflows before the product
      const array grown = exp(multiply(z, number(0.5, z), s), s);
      high = multiply(multiply(high, grown, s), grown, s);
    }
    if (order == 1) high = multiply(high, sign(x, s), s);
    return where(small, low, high, s);
  });
}

array factorial(const array& n, StreamOrDevice s) {
  const Dtype t = floating_of("factorial", n.dtype());
  const array x = astype(n, float64, s), none = less(x, zero_for(x), s);
  const array size = gamma(add(where(none, zero_for(x), x, s), number(1, x), s), s);
  return astype(where(none, zero_for(x), size, s), t, s);
}
array comb(const array& n, const array& k, StreamOrDevice stream) {
  const Dtype t = floating_of("comb", promote_types(n.dtype(), k.dtype()));
  const Stream s = to_stream(stream);
  const array x = astype(n, float64, s), y = astype(k, float64, s), zero = zero_for(x);
  const array one = number(1, x), rest = subtract(x, y, s);
  const array none = logical_or(less(y, zero, s), less(rest, zero, s), s);
  auto log_factorial = [&](const array& v) {
    return lgamma(add(where(none, zero, v, s), one, s), s);
  };
  const array below = add(log_factorial(y), log_factorial(rest), s);
  return astype(where(none, zero, exp(subtract(log_factorial(x), below, s), s), s), t, s);
}

array logit(const array& a, StreamOrDevice stream) {
  return unary_formula("logit", a, stream, [](const array& x, Stream s) {
    return subtract(log(x, s), log1p(negative(x, s), s), s);
  });
}
array log_expit(const array& a, StreamOrDevice stream) {
  return unary_formula("log_expit", a, stream, [](const array& x, Stream s) {
    return negative(logaddexp(negative(x, s), zero_for(x), s), s);
  });
}

array xlogy(const array& x, const array& y, StreamOrDevice s) {
  return times_log("xlogy", x, y, s, [](const array& v, Stream t) { return log(v, t); });
}
array xlog1py(const array& x, const array& y, StreamOrDevice s) {
  return times_log("xlog1py", x, y, s, [](const array& v, Stream t) { return log1p(v, t); });
}

array entr(const array& a, StreamOrDevice stream) {
  return unary_formula("entr", a, stream, [](const array& x, Stream s) {
    const array zero = zero_for(x), positive = greater(x, zero, s);
    const array safe = where(positive, x, number(1, x), s);
    const array limit =
        where(isnan(x, s), x, where(is_zero(x, s), zero, number(-INFINITY, x), s), s);
    return where(positive, negative(multiply(safe, log(safe, s), s), s), limit, s);
  });
}
array rel_entr(const array& x, const array& y, StreamOrDevice s) {
  return relative("rel_entr", x, y, s,
                  [](const array& u, const array&, Stream) { return zero_for(u); });
}
array kl_div(const array& x, const array& y, StreamOrDevice s) {
  return relative("kl_div", x, y, s,
                  [](const array& u, const array& v, Stream t) { return subtract(v, u, t); });
}

array sinc(const array& a, StreamOrDevice stream) {
  return unary_formula("sinc", a, stream, [](const array& x, Stream s) {
    const array none = is_zero(x, s), one = number(1, x);
    // The distance from an even integer has the same sine, and no rounding error of pi times a.
    const array turns = multiply(rint(multiply(x, number(0.5, x), s), s), number(2, x), s);
    const array off = multiply(subtract(x, turns, s), number(std::numbers::pi, x), s);
    const array angle = multiply(x, number(std::numbers::pi, x), s);
    return where(none, one, divide(sin(off, s), where(none, one, angle, s), s), s);
  });
}

array log_softmax(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  const array x = astype(a, at_least_float(a.dtype()), s);
  return subtract(x, logsumexp(x, axes, true, s), s);
}

}  // namespace mlx::core::special
