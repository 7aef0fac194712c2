// Trigonometric functions and their inverses over a value type; error bounds are given at each
// function, as float32 / float64 ULP. Arguments of any size are reduced correctly: up to a limit by
// subtracting multiples of pi/2 in several words, above it lane by lane with the C library's exact
// reduction.
#pragma once

#include "mlx/backend/math/base.h"

namespace mlx::core::m {

namespace trig_detail {

inline constexpr float kSin32[] = {-0.166666549f, 0.00833217583f, -0.000195169759f};
inline constexpr float kCos32[] = {0.0416666468f, -0.00138873647f, 2.443811e-5f};
inline constexpr double kSin64[] = {-0.16666666666666632,    0.00833333333332237,
                                    -0.00019841269829771222, 2.7557313678689495e-6,
                                    -2.5050755965356917e-8,  1.5896666732569302e-10};
inline constexpr double kCos64[] = {0.041666666666666599,  -0.0013888888888874065,
                                    2.4801587289443644e-5, -2.755731434070665e-7,
                                    2.0875721629986513e-9, -1.1359559641811852e-11};
inline constexpr double kAtan64[] = {
    -0.33333333333333198,  0.19999999999953665,  -0.14285714280204192,  0.11111110783819858,
    -0.090908977671798587, 0.076920603630154834, -0.066631054661305931, 0.058478974550275865,
    -0.050393310845455305, 0.038064961147820297, -0.017907350570008326};
inline constexpr double kAsin64[] = {
    0.16666666666666765,  0.074999999999694075,  0.044642857175979173, 0.030381942640528408,
    0.022372216924217356, 0.017351576548891725,  0.013981253179503671, 0.011395315087639429,
    0.010800720002615746, 0.0036279883294299788, 0.021900877441111342, -0.021276431692930727,
    0.032804315507325355};

inline constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;
inline constexpr double kTanEighth = 0x1.a827999fcef32p-2;  // tan(pi / 8)

template <class V>
struct Angle {
  V r;                // |x| = quarter pi/2 + r
  typename V::Int q;  // its low two bits: the quadrant
};

// The largest argument for which `reduce` is sufficiently exact.
template <class V>
inline constexpr double kLimit = Real32<V>    ? 1e5
                                 : V::has_fma ? 1e9
                                              : 1e6;

template <Real V>
MLX_FN Angle<V> reduce(V a) {
  using T = typename V::elem;
  V t = v_fma(a, V(T(0x1.45f306dc9c883p-1)), V(kRounder<T>));
  V n = t - V(kRounder<T>), r;
  if constexpr (Real32<V>) {
    r = v_fma(n, V(-0x1.921fb6p+0f), a);
    r = v_fma(n, V(0x1.777a5cp-25f), r);
    r = v_fma(n, V(0x1.ee59dap-50f), r);
  } else {  // the first two words have 33 bits: their products are exact without FMA too
    r = v_fma(n, V(-0x1.921fb544p+0), a);
    r = v_fma(n, V(-0x1.0b4611a6p-34), r);
    r = v_fma(n, V(-0x1.3198a2e037073p-69), r);
  }
  return {r, v_bits(t)};
}

template <Real V>
MLX_FN V sin_near_zero(V r, V z) {
  if constexpr (Real32<V>) {
    return v_fma(r * z, polynomial(z, kSin32), r);
  } else {
    return v_fma(r * z, polynomial(z, kSin64), r);
  }
}
template <Real V>
MLX_FN V cos_near_zero(V z) {
  using T = typename V::elem;
  if constexpr (Real32<V>) {
    return v_fma(z * z, polynomial(z, kCos32), v_fma(z, V(-0.5f), V(1.0f)));
  } else {
    V half = V(T(0.5)) * z, w = V(T(1)) - half;
    return w + v_fma(z * z, polynomial(z, kCos64), (V(T(1)) - w) - half);
  }
}
template <class I>
MLX_FN auto bit(I q, int which) {
  return (q & I(which)) != I(0);
}

// sin(|x| + turns pi/2) for arguments within the limit.
template <Real V>
MLX_FN V wave(V a, int turns) {
  using I = typename V::Int;
  auto [r, q] = reduce(a);
  q = q + I(turns);
  V z = r * r;
  V y = v_select(bit(q, 1), cos_near_zero(z), sin_near_zero(r, z));
  return v_from_bits<V>(v_bits(y) ^ ((q & I(2)) << int(8 * sizeof(typename V::elem) - 2)));
}

template <Real V, class Fast, class Exact>
MLX_FN V any_size(V x, Fast fast, Exact exact) {
  using T = typename V::elem;
  V a = v_abs(x), y = fast(a);
  auto rare = !(a <= V(T(kLimit<V>)));
  if (v_any(rare)) [[unlikely]]
    y = exact(a, y, rare);
  return y;
}

}  // namespace trig_detail

/// Sine of radians; 2 / 2.25 ULP for every argument.
template <Real V>
MLX_FN V sin(V x) {
  using namespace trig_detail;
  if constexpr (Real32<V> && !V::has_fma) {
    return through_double(x, [](auto d) MLX_INLINED { return sin(d); });
  } else {
    V y = any_size(
        x, [](V a) MLX_INLINED { return wave(a, 0); },
        [](V a, V y, auto rare) {
          if constexpr (Real32<V>) {
            return v_select(rare, v_slow(a, [](auto d) { return sin(d); }), y);
          } else {
            return v_map(a, y, rare, [](double d) { return __builtin_sin(d); });
          }
        });
    return v_flip_sign(y, x);
  }
}

/// Cosine of radians; 2 / 2.25 ULP for every argument.
template <Real V>
MLX_FN V cos(V x) {
  using namespace trig_detail;
  if constexpr (Real32<V> && !V::has_fma) {
    return through_double(x, [](auto d) MLX_INLINED { return cos(d); });
  } else {
    return any_size(
        x, [](V a) MLX_INLINED { return wave(a, 1); },
        [](V a, V y, auto rare) {
          if constexpr (Real32<V>) {
            return v_select(rare, v_slow(a, [](auto d) { return cos(d); }), y);
          } else {
            return v_map(a, y, rare, [](double d) { return __builtin_cos(d); });
          }
        });
  }
}

/// Tangent of radians; 1 / 3.5 ULP for every argument.
template <Real V>
MLX_FN V tan(V x) {
  using namespace trig_detail;
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return tan(d); });
  } else {
    V y = any_size(
        x,
        [](V a) MLX_INLINED {
          auto [r, q] = reduce(a);
          V z = r * r, s = sin_near_zero(r, z), c = cos_near_zero(z);
          auto odd = bit(q, 1);
          return v_select(odd, -c, s) / v_select(odd, s, c);
        },
        [](V a, V y, auto rare) {
          return v_map(a, y, rare, [](double d) { return __builtin_tan(d); });
        });
    return v_flip_sign(y, x);
  }
}

namespace trig_detail {
// s + s z P(z) = arcsin of s, where z = s^2 <= 1/4.
template <Real64 V>
MLX_FN V asin_tail(V s, V z) {
  return s * z * polynomial(z, kAsin64);
}
// arctan(top / bottom) + base for |top / bottom| <= tan(pi / 8).
template <Real64 V>
MLX_FN V atan_from(V q, V base, V base_low) {
  V z = q * q;
  return base + (q + v_fma(q * z, polynomial(z, kAtan64), base_low));
}
}  // namespace trig_detail

/// Inverse sine; 1 / 2 ULP; NaN outside [-1, 1].
template <Real V>
MLX_FN V arcsin(V x) {
  using namespace trig_detail;
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return arcsin(d); });
  } else {
    V a = v_abs(x);
    auto large = a > V(0.5);
    V z = v_select(large, V(0.5) * (V(1.0) - a), a * a);
    V s = v_select(large, v_sqrt(z), a), t = asin_tail(s, z);
    V near_one = V(kHalfPi) - (V(2.0) * s + v_fma(V(2.0), t, V(-kHalfPiLow)));
    return v_copysign(v_select(large, near_one, s + t), x);
  }
}

/// Inverse cosine; 1 / 2 ULP; NaN outside [-1, 1].
template <Real V>
MLX_FN V arccos(V x) {
  using namespace trig_detail;
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return arccos(d); });
  } else {
    V a = v_abs(x);
    auto large = a > V(0.5);
    V z = v_select(large, V(0.5) * (V(1.0) - a), a * a);
    V s = v_select(large, v_sqrt(z), x), t = asin_tail(s, z);
    V middle = V(kHalfPi) - (s + (t - V(kHalfPiLow)));
    V right = V(2.0) * (s + t);
    V left = V(2.0) * (V(kHalfPi) - (s + (t - V(kHalfPiLow))));
    return v_select(large, v_select(x < V(0.0), left, right), middle);
  }
}

/// Inverse tangent; 1 / 2 ULP.
template <Real V>
MLX_FN V arctan(V x) {
  using namespace trig_detail;
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED { return arctan(d); });
  } else {
    V a = v_abs(x), one = V(1.0), zero = V(0.0);
    auto beyond = a > V(1.0 / kTanEighth), middle = a > V(kTanEighth);
    V top = v_select(beyond, -one, v_select(middle, a - one, a));
    V bottom = v_select(beyond, a, v_select(middle, a + one, one));
    V half = v_select(beyond, one, v_select(middle, V(0.5), zero));
    return v_copysign(atan_from(top / bottom, half * V(kHalfPi), half * V(kHalfPiLow)), x);
  }
}

/// Angle of the point (x, y); 1 / 2 ULP, with IEEE 754's values on the axes and at infinity.
template <Real V>
MLX_FN V arctan2(V y, V x) {
  using namespace trig_detail;
  if constexpr (Real32<V>) {
    return through_double(y, x, [](auto a, auto b) MLX_INLINED { return arctan2(a, b); });
  } else {
    V inf = V(kInf<double>), zero = V(0.0), one = V(1.0);
    V a = v_abs(y), b = v_abs(x);
    auto both = (a == inf) & (b == inf);
    a = v_select(both, one, a);
    b = v_select(both, one, b);
    auto huge = (a > V(0x1p1000)) | (b > V(0x1p1000));
    V scale = v_select(huge, V(0x1p-100), one);
    a = a * scale;
    b = b * scale;
    auto steep = a > b;
    V low = v_select(steep, b, a), high = v_select(steep, a, b);
    auto middle = low > V(kTanEighth) * high;
    V top = v_select(middle, low - high, low), bottom = v_select(middle, low + high, high);
    V q = v_select(low == zero, zero, top / bottom);
    // The angle is base + arctan(q) in the first octant; each reflection negates q and changes
    // base.
    V base = v_select(middle, V(0.5), zero);
    base = v_select(steep, one - base, base);
    q = v_select(steep, -q, q);
    auto left = v_from_bits<V>(v_sign_bits(x) | v_bits(one)) < zero;
    base = v_select(left, V(2.0) - base, base);
    q = v_select(left, -q, q);
    V r = v_copysign(atan_from(q, base * V(kHalfPi), base * V(kHalfPiLow)), y);
    return v_select((x == x) & (y == y), r, x + y);
  }
}

}  // namespace mlx::core::m
