// Exponentials, logarithms, powers and hyperbolic functions over a value type. Error bounds are
// given at each function, as float32 / float64 ULP; subnormals, infinities, NaN and signed zeros
// are exact. Reductions are the classical ones (Cody and Waite; s = f / (2 + f) for the logarithm);
// coefficients are minimax fits for these intervals.
#pragma once

#include "mlx/backend/math/base.h"

namespace mlx::core::m {

namespace exp_detail {

inline constexpr float kExp32[] = {0.499999934f, 0.166665201f, 0.0416683942f, 0.00836878079f,
                                   0.00138144673f};
inline constexpr double kExp64[] = {
    0.50000000000000107,   0.16666666666666408,    0.041666666666529345,  0.0083333333334968153,
    0.0013888888943900648, 0.00019841269502889714, 2.4801492773832023e-5, 2.7557588570485415e-6,
    2.7630377429377564e-7, 2.4999680791381701e-8};
inline constexpr float kLog32[] = {0.333333317f, -0.25000821f,  0.200012278f, -0.166233596f,
                                   0.142017458f, -0.131601518f, 0.127616277f, -0.0763462153f};
inline constexpr float kTanh32[] = {-0.333333175f, 0.133325834f, -0.0538519947f, 0.0210702898f,
                                    -0.00627215322f};
inline constexpr double kLog64[] = {0.66666666666667349, 0.39999999999411097, 0.28571428743263925,
                                    0.22222198475739894, 0.18183569756048341, 0.15313902778693286,
                                    0.14797512724715011};

/// 1 / (1 + f) from 1 / sqrt(2) - 1 to sqrt(2) - 1, within .0105.
template <class T>
inline constexpr T kInverse[] = {T(1.0017851), T(-1.0882961), T(0.97056713)};

// ln 2 in two parts; the product of the first with any exponent is exact.
template <class T>
inline constexpr T kLn2High = sizeof(T) == 4 ? T(0x1.62e4p-1) : T(0x1.62e42feep-1);
template <class T>
inline constexpr T kLn2Low = sizeof(T) == 4 ? T(0x1.7f7d1cf79abcap-20) : T(0x1.a39ef35793c76p-33);

template <class V>
struct Reduced {
  Exponent<V> power;
  V tail;  // x = power.n ln 2 + r; tail = exp(r) - 1
};
// x is within the range of exponents.
template <Real V>
MLX_FN Reduced<V> reduce(V x) {
  using T = typename V::elem;
  const Exponent<V> power(x * V(T(1.4426950408889634)));
  V r = v_fma(power.n, V(-kLn2Low<T>), v_fma(power.n, V(-kLn2High<T>), x));
  V p;
  if constexpr (Real32<V>) {
    p = polynomial(r, kExp32);
  } else {
    p = polynomial(r, kExp64);
  }
  return {power, v_fma(r * r, p, r)};
}

template <class V>
struct Mantissa {
  V k, f;  // u = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
};
// u is positive, normal and finite.
template <Real V>
MLX_FN Mantissa<V> split(V u) {
  using T = typename V::elem;
  using I = typename V::Int;
  constexpr int kF = kFraction<V>;
  constexpr auto kSqrtHalf =
      static_cast<typename I::elem>(Real32<V> ? 0x3f3504f3ll : 0x3fe6a09e667f3bcdll);
  constexpr auto kOne = static_cast<typename I::elem>(kBias<V>) << kF;
  I k = v_shift_right_logical(v_bits(u) + I(kOne - kSqrtHalf), kF);  // biased
  I one_plus_f = v_bits(u) - (k << kF) + I(kOne);
  V kf;
  if constexpr (Real32<V>) {
    kf = v_to_float(k) - V(T(kBias<V>));
  } else {
    kf = v_from_bits<V>(k + v_bits(V(kRounder<T>))) - V(kRounder<T> + kBias<V>);
  }
  return {kf, v_from_bits<V>(one_plus_f) - V(T(1))};
}

// log(1 + f) = high + low with f = high; `extra` is added to the low part before it is rounded.
template <Real V>
MLX_FN V log_of_mantissa(V f, V low) {
  using T = typename V::elem;
  V half_square = V(T(0.5)) * f * f;
  if constexpr (Real32<V>) {
    return f - (half_square - v_fma(f * f * f, polynomial(f, kLog32), low));
  } else {
    V s = f / (V(2.0) + f), z = s * s;
    V r = z * polynomial(z, kLog64);
    return f - (half_square - v_fma(s, half_square + r, low));
  }
}

// Arguments outside the fast path of logarithms: zero, negative, subnormal, infinite, NaN.
template <Real V>
MLX_FN auto unusual(V x) {
  using T = typename V::elem;
  constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
  return !((x >= V(kTiny)) & (x < V(kInf<T>)));
}
// `r` with the limits of a logarithm where x is zero, negative, infinite or NaN.
template <Real V>
MLX_FN V log_limits(V x, V r) {
  using T = typename V::elem;
  r = v_select(x < V(kInf<T>), r, x);
  r = v_select(x < V(T(0)), V(kNan<T>), r);
  return v_select(x == V(T(0)), V(-kInf<T>), r);
}

// combine(k, f) for x = 2^k (1 + f), and the limits if x is not a positive number.
template <Real V, class F>
MLX_FN V log_with(V x, F combine) {
  using T = typename V::elem;
  auto parts = split(x);
  V r = combine(parts.k, parts.f);
  auto rare = unusual(x);
  if (v_any(rare)) [[unlikely]] {
    constexpr T kUp = sizeof(T) == 4 ? 23 : 52;
    auto scaled = split(x * power_of_two(V(kUp)));
    V slow = combine(scaled.k - V(kUp), scaled.f);
    r = v_select(rare, log_limits(x, slow), r);
  }
  return r;
}

}  // namespace exp_detail

/// e^x; 1.1 / 1.1 ULP.
template <Real V>
MLX_FN V exp(V x) {
  using T = typename V::elem;
  constexpr T kLow = sizeof(T) == 4 ? T(-104) : T(-746), kHigh = sizeof(T) == 4 ? T(89) : T(710);
  x = v_max(V(kLow), v_min(V(kHigh), x));  // NaN is preserved
  auto [power, tail] = exp_detail::reduce(x);
  return power.scaled(V(T(1)) + tail);
}

/// e^x - 1; 1.5 / 2.5 ULP.
template <Real V>
MLX_FN V expm1(V x) {
  using T = typename V::elem;
  constexpr T kLow = sizeof(T) == 4 ? T(-40) : T(-80), kHigh = sizeof(T) == 4 ? T(89) : T(710);
  V clamped = v_max(V(kLow), v_min(V(kHigh), x));  // NaN is preserved
  auto [power, tail] = exp_detail::reduce(clamped);
  V s = power_of_two(power.n - V(T(1)));  // half of 2^n, which may exceed the largest number
  V r = V(T(2)) * v_fma(s, tail, s - V(T(0.5)));
  constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-30) : T(0x1p-60);
  return v_select(v_abs(x) < V(kTiny), x, r);
}

/// Natural logarithm; 1 / 1 ULP.
template <Real V>
MLX_FN V log(V x) {
  using namespace exp_detail;
  using T = typename V::elem;
  return log_with(x, [](V k, V f) MLX_INLINED {
    return v_fma(k, V(kLn2High<T>), log_of_mantissa(f, k * V(kLn2Low<T>)));
  });
}

/// Base-2 logarithm, exact for powers of two; 1 / 2 ULP.
template <Real V>
MLX_FN V log2(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return log2(d); });
  } else {
    return exp_detail::log_with(x, [](V k, V f) MLX_INLINED {
      V l = exp_detail::log_of_mantissa(f, V(0.0));
      return k + v_fma(l, V(0x1.777d0ffda0d24p-56), l * V(0x1.71547652b82fep0));
    });
  }
}

/// Base-10 logarithm; 1 / 2 ULP.
template <Real V>
MLX_FN V log10(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return log10(d); });
  } else {
    return exp_detail::log_with(x, [](V k, V f) MLX_INLINED {
      V l = exp_detail::log_of_mantissa(f, V(0.0)) * V(0x1.bcb7b1526e50ep-2);
      return v_fma(k, V(0x1.34413509p-2), v_fma(k, V(0x1.ef3fde623e256p-35), l));
    });
  }
}

/// log(1 + x); 1.5 / 1.5 ULP.
template <Real V>
MLX_FN V log1p(V x) {
  using namespace exp_detail;
  using T = typename V::elem;
  constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-30) : T(0x1p-60);
  V one = V(T(1)), u = one + x, back = u - one;
  V lost = (one - (u - back)) + (x - back);  // 1 + x = u + lost, exactly
  auto [k, f] = split(u);
  // lost / u, without a division: an error of .02 ULP of the result. A large u needs nothing of it.
  V share = v_fma(-f * lost, polynomial(f, kInverse<T>), lost);
  share = v_select(k < V(T(64)), share * power_of_two(-k), V(T(0)));
  V r = v_fma(k, V(kLn2High<T>), log_of_mantissa(f, v_fma(k, V(kLn2Low<T>), share)));
  auto plain = (x > V(T(-1))) & (x < V(kInf<T>)) & (v_abs(x) > V(kTiny));
  return v_select(plain, r, log_limits(u, x));  // tiny x is its own logarithm
}

/// x^y as in IEEE 754; 1 / 1 ULP.
template <Real V>
MLX_FN V power(V x, V y) {
  if constexpr (Real32<V>) {
    return through_double(x, y, [](auto a, auto b) MLX_INLINED {
      using D = decltype(a);
      D size = v_abs(a), one = D(1.0), zero = D(0.0);
      D r = exp(b * log(size));
      auto integral = v_rint(b) == b;
      D half = b * D(0.5);
      auto odd = integral & (v_rint(half) != half);
      auto negative = v_from_bits<D>(v_sign_bits(a) | v_bits(one)) < zero;
      r = v_select(negative & odd, -r, r);
      r = v_select((a < zero) & (size < D(kInf<double>)) & !integral, D(kNan<double>), r);
      r = v_select((size == one) & (v_abs(b) == D(kInf<double>)), one, r);
      return v_select((a == one) | (b == zero), one, r);
    });
  } else {
    return v_map(x, y, x, (x == x) | (x != x),
                 [](double a, double b) { return __builtin_pow(a, b); });
  }
}

/// log(e^x + e^y); 2 / 3 ULP, of the larger operand where the two terms cancel.
template <Real V>
MLX_FN V logaddexp(V x, V y) {
  using T = typename V::elem;
  V top = v_max(x, y), low = v_min(x, y);
  V gap = v_select(x == y, V(T(0)), top - low);  // equal infinities have no difference
  V back = top - gap;                            // gap + lost is the difference, exactly
  V lost = (top - (back + gap)) + (back - low);
  V e = exp(-gap);
  e = v_select(v_abs(lost) < V(T(1)), v_fma(-e, lost, e), e);
  V r = top + log1p(e);
  return v_select((x == x) & (y == y), r, x + y);
}

/// 1 / (1 + e^-x); 2 / 2 ULP, without FMA 2.5 / 2.5.
template <Real V>
MLX_FN V sigmoid(V x) {
  using T = typename V::elem;
  V one = V(T(1)), t = exp(-v_abs(x));          // at most 1: a small result keeps all its bits
  V below = one + t, lost = t - (below - one);  // 1 + t = below + lost, exactly
  V above = v_select(x < V(T(0)), t, one), inverse = v_quotient(one, below);
  V r = above * inverse;
  return v_fma(v_fma(-r, lost, v_fma(-r, below, above)), inverse, r);
}

/// Hyperbolic tangent; 2 / 3 ULP.
template <Real V>
MLX_FN V tanh(V x) {
  V a = v_abs(x);
  if constexpr (Real32<V>) {
    V z = x * x, one = V(1.0f), two = V(2.0f);
    V near_zero = v_fma(a * z, polynomial(z, exp_detail::kTanh32), a);
    auto [power, tail] = exp_detail::reduce(v_min(V(40.0f), a + a));  // beyond, the result is 1
    V far = one - v_quotient(two, power.scaled_within(one + tail) + one);
    return v_copysign(v_select(a < V(0.55f), near_zero, far), x);
  } else {
    V t = expm1(v_min(V(50.0), a + a));
    return v_copysign(t / (t + V(2.0)), x);
  }
}

/// Hyperbolic sine; 1 / 3 ULP.
template <Real V>
MLX_FN V sinh(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return sinh(d); });
  } else {
    V a = v_abs(x), t = expm1(a);
    V r = V(0.5) * (t + t / (t + V(1.0)));
    auto large = a > V(700.0);
    if (v_any(large)) [[unlikely]] {
      V h = exp(V(0.5) * a);
      r = v_select(large, (V(0.5) * h) * h, r);
    }
    return v_copysign(r, x);
  }
}

/// Hyperbolic cosine; 1 / 2.75 ULP.
template <Real V>
MLX_FN V cosh(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return cosh(d); });
  } else {
    V a = v_abs(x), t = exp(a);
    V r = v_fma(V(0.5), t, V(0.5) / t);
    auto large = a > V(700.0);
    if (v_any(large)) [[unlikely]] {
      V h = exp(V(0.5) * a);
      r = v_select(large, (V(0.5) * h) * h, r);
    }
    return r;
  }
}

/// Cube root, with the sign of x; 1 / 1.5 ULP.
template <Real V>
MLX_FN V cbrt(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return cbrt(d); });
  } else {
    V a = v_abs(x);
    auto tiny = a < V(0x1p-900);
    V s = v_select(tiny, a * V(0x1p300), a), third = V(1.0 / 3.0);
    V y = exp(log(s) * third);
    y = y - (y - s / (y * y)) * third;  // a step of Newton's method
    y = v_select(tiny, y * V(0x1p-100), y);
    return v_copysign(v_select((a > V(0.0)) & (a < V(kInf<double>)), y, a), x);
  }
}

/// Inverse hyperbolic sine; 1 / 3 ULP.
template <Real V>
MLX_FN V arcsinh(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return arcsinh(d); });
  } else {
    V a = v_abs(x);
    auto large = a > V(0x1p500);
    V r = log1p(v_select(large, a, a + a * a / (V(1.0) + v_sqrt(v_fma(a, a, V(1.0))))));
    return v_copysign(v_select(large, r + V(0.6931471805599453), r), x);
  }
}

/// Inverse hyperbolic cosine; 1 / 3 ULP.
template <Real V>
MLX_FN V arccosh(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return arccosh(d); });
  } else {
    auto large = x > V(0x1p500);
    V t = x - V(1.0);
    V r = log1p(v_select(large, x, t + v_sqrt(t * (t + V(2.0)))));
    r = v_select(large, r + V(0.6931471805599453), r);
    return v_select(x < V(1.0), V(kNan<double>), r);
  }
}

/// Inverse hyperbolic tangent; 1 / 3 ULP.
template <Real V>
MLX_FN V arctanh(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return arctanh(d); });
  } else {
    V a = v_abs(x);
    return v_copysign(V(0.5) * log1p((a + a) / (V(1.0) - a)), x);
  }
}

}  // namespace mlx::core::m
