// Logarithm of the gamma function and its derivative over a value type; error bounds are given at
// each function, as float32 / float64 ULP. float32 is computed in double.
#pragma once

#include "mlx/backend/math/base.h"
#include "mlx/backend/math/exp.h"
#include "mlx/backend/math/trig.h"

namespace mlx::core::m {

namespace gamma_detail {

// lgamma(2 + z) / z on [-1/2, 1/2], by interpolation at Chebyshev's points.
inline constexpr double kNearTwo[] = {
    0.42278433509846714,     0.32246703342411324,   -0.06735230105319814,   0.020580808427780335,
    -0.0073855510286680962,  0.0028905103310367721, -0.0011927539120033873, 0.00050966951534843731,
    -0.00022315475069647703, 9.9457674400967638e-5, -4.4926351667703417e-5, 2.0505584372896931e-5,
    -9.4384548840547256e-6,  4.3847319318293742e-6, -2.0449353231800405e-6, 9.1998980756714018e-7,
    -4.3032346929569786e-7,  2.7880013392491777e-7, -1.3415702734598065e-7};
// B(2k) / (2k (2k - 1)) and B(2k) / 2k: Stirling's series and its derivative.
inline constexpr double kStirling[] = {
    0.083333333333333333,   -0.0027777777777777778, 0.00079365079365079365, -0.00059523809523809524,
    0.00084175084175084175, -0.0019175269175269175, 0.0064102564102564103,  -0.029550653594771242};
inline constexpr double kDerivative[] = {
    0.083333333333333333,  -0.0083333333333333333, 0.0039682539682539683, -0.0041666666666666667,
    0.0075757575757575758, -0.021092796092796093,  0.083333333333333333,  -0.44325980392156863};
inline constexpr double kPi = 3.141592653589793;

// The distance of a >= 0 from the nearest integer.
template <Real64 V>
MLX_FN V off_integer(V a) {
  return v_abs(a - v_rint(a));
}

// lgamma(x) for 0 <= x < 8: divided by x - 1, x - 2, .. down to an argument within 1/2 of 2, or
// multiplied by x up to one within 1/2 of 1.
template <Real64 V>
MLX_FN V log_near_two(V x) {
  auto small = x < V(0.5);
  V y = v_select(small, x + V(1.0), x), product = V(1.0);
  for (int i = 0; i < 6; ++i) {
    auto above = y > V(2.5);
    V less = y - V(1.0);
    y = v_select(above, less, y);
    product = v_select(above, product * less, product);
  }
  auto low = y < V(1.5);
  V z = v_select(low, v_select(small, x, y - V(1.0)), y - V(2.0));
  V r = z * polynomial(z, kNearTwo) + v_select(low, -log1p(v_select(low, z, V(0.0))), log(product));
  return v_select(small, r - log(x), r);
}

// Stirling's series, for x >= 8.
template <Real64 V>
MLX_FN V stirling(V x) {
  V inverse = V(1.0) / x;
  V series = inverse * polynomial(inverse * inverse, kStirling);
  return v_fma(x - V(0.5), log(x) - V(1.0), series + V(0.41893853320467274));
}

template <Real64 V>
MLX_FN V lgamma_positive(V a) {
  auto large = a >= V(8.0);
  return v_select(large, stirling(v_max(a, V(8.0))), log_near_two(v_select(large, V(2.0), a)));
}

}  // namespace gamma_detail

/// log |gamma(x)|; infinite at 0, -1, -2, ... In float64 within 5 ULP of the larger of the result
/// and 1 for positive numbers; near the zeros between negative integers, of log(pi |x|).
template <Real V>
MLX_FN V lgamma(V x) {
  using namespace gamma_detail;
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return lgamma(d); });
  } else {
    V a = v_abs(x), r = lgamma_positive(a);
    auto negative = x < V(0.0);
    if (v_any(negative)) [[unlikely]] {
      // gamma(-a) gamma(a) = -pi / (a sin(pi a))
      V off = off_integer(a);
      V reflected = V(1.1447298858494002) - log(sin(V(kPi) * off)) - log(a) - r;
      reflected = v_select(a < V(0x1p-100), r, reflected);             // both are -log(a)
      reflected = v_select(off > V(0.0), reflected, V(kInf<double>));  // also for -inf
      r = v_select(negative, reflected, r);
    }
    return v_select(x == x, r, x);
  }
}

/// The derivative of log |gamma(x)|; infinite at 0, NaN at -1, -2, ... In float64 within 6 ULP of
/// the larger of the result and 1 for positive numbers.
template <Real V>
MLX_FN V digamma(V x) {
  using namespace gamma_detail;
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return digamma(d); });
  } else {
    auto negative = x < V(0.5);
    V y = v_select(negative, V(1.0) - x, x), sum = V(0.0);
    for (int i = 0; i < 10; ++i) {
      auto below = y < V(10.0);
      sum = v_select(below, sum + V(1.0) / y, sum);
      y = v_select(below, y + V(1.0), y);
    }
    V inverse = V(1.0) / y, square = inverse * inverse;
    V r = log(y) - V(0.5) * inverse - square * polynomial(square, kDerivative) - sum;
    if (v_any(negative)) [[unlikely]] {
      // digamma(1 - x) - digamma(x) = pi / tan(pi x)
      V off = x - v_rint(x), cotangent = V(kPi) / tan(V(kPi) * off);
      cotangent = v_select(off == V(0.0), V(kNan<double>), cotangent);
      r = v_select(negative, r - cotangent, r);
    }
    r = v_select(x == V(0.0), -v_copysign(V(kInf<double>), x), r);
    return v_select(x == V(kInf<double>), x, r);
  }
}

}  // namespace mlx::core::m
