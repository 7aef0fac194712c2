// Error function and its inverse over a value type; error bounds stand at each function, as float32
// / float64 ULP.
#pragma once

#include "mlx/backend/shared/math_base.h"
#include "mlx/backend/shared/math_exp.h"

namespace mlx::core::m {

namespace special_detail {

// erf(x) / x on 16 intervals of 1/4, each a polynomial of degree 5 in the distance from its centre.
inline constexpr float kErf[6][16] = {
    {1.12252964f, 1.07764509f, 0.997185413f, 0.896085786f, 0.78967843f, 0.689578235f, 0.60211922f,
     0.529061364f, 0.46933928f, 0.420722973f, 0.380874142f, 0.347809442f, 0.319996833f,
     0.296295758f, 0.275861988f, 0.258064505f},
    {-0.0931549468f, -0.25944608f, -0.373897393f, -0.42438941f, -0.419026194f, -0.377613428f,
     -0.321013517f, -0.264274954f, -0.215058099f, -0.175459577f, -0.144657625f, -0.120876248f,
     -0.102378264f, -0.0877875575f, -0.0760992473f, -0.066597204f},
    {-0.365642275f, -0.288495272f, -0.165264859f, -0.0397309484f, 0.0541918096f, 0.104267408f,
     0.11707473f, 0.107401392f, 0.0888634883f, 0.0698715149f, 0.0539598932f, 0.0417536974f,
     0.0326962699f, 0.0259983575f, 0.0209906652f, 0.0171860253f},
    {0.055376772f, 0.142984899f, 0.175344022f, 0.151600843f, 0.0962298862f, 0.0390333877f,
     -0.00137376765f, -0.0213114223f, -0.0262708485f, -0.0236383231f, -0.018693205f, -0.014000457f,
     -0.0103348248f, -0.00767579388f, -0.0057853795f, -0.00443425528f},
    {0.106052569f, 0.0626983481f, 0.0019803429f, -0.0444001546f, -0.0603374818f, -0.0504389608f,
     -0.0297867052f, -0.0112713947f, -0.000127364846f, 0.00437602448f, 0.00504130748f,
     0.00421293038f, 0.00313142196f, 0.00223550068f, 0.00158987379f, 0.00114451097f},
    {-0.0194144668f, -0.046202121f, -0.0464202531f, -0.025504333f, -0.000650106711f, 0.0143846526f,
     0.0168994476f, 0.0120439563f, 0.00591293015f, 0.0016779557f, -0.000305617209f,
     -0.000863714875f, -0.000814758661f, -0.000612894482f, -0.000427390271f, -0.000293173856f},
};

// erfinv(x) / x as a function of w = -log(1 - x^2), in three ranges; relative error below 2^-27.
inline constexpr double kNear[] = {
    1.6536545713006182,     0.24015817420591392,    -0.0060337300400146227, -0.00074068770449406483,
    0.00018679965755777598, -1.3891455566008716e-5, -1.3919515271445767e-6, 4.2630991107265353e-7,
    -2.4208879232896443e-8, -4.6386321783247827e-9, 6.3776702997470917e-10};
inline constexpr double kMiddle[] = {
    3.0838856104133868,    1.0052589710381775,     0.0053709247846118263,  -0.0037513356294026485,
    0.0024912315680297127, -0.0016869061505257103, 0.00095484756069814481, -0.00036123283680397859,
    1.8931435100878914e-5, 8.1408153814191742e-5,  -4.0024525038130277e-5};
inline constexpr double kFar[] = {
    4.9509348532512729,    1.0102665631400234,    -0.00019886602952287866, -0.00018649548350037375,
    6.6846474006014779e-5, -1.722656785916862e-5, 3.7882650454654221e-6,   -7.3695720490037553e-7,
    2.6319269561504634e-7, -1.0217296701256092e-7};

// erfinv to 27 bits, for |x| < 1; the far range exists in double alone.
template <Real64 V>
MLX_FN V erfinv_start(V x, bool far) {
  V w = -log((V(1.0) - x) * (V(1.0) + x)), r = polynomial(w - V(3.125), kNear);
  if (v_any(w > V(6.25))) [[unlikely]] {
    V s = v_sqrt(w);
    r = v_select(w > V(6.25), polynomial(s - V(3.25), kMiddle), r);
    if (far) r = v_select(s > V(4.0), polynomial(s - V(5.1), kFar), r);
  }
  return x * r;
}
template <Real V>
MLX_FN V erfinv_limits(V x, V r) {
  using T = typename V::elem;
  V a = v_abs(x);
  r = v_select(a < V(T(1)), r, v_copysign(V(kInf<T>), x));
  return v_select(a <= V(T(1)), r, V(kNan<T>));
}

}  // namespace special_detail

/// Error function; 2.1 / 1.25 ULP.
template <Real V>
MLX_FN V erf(V x) {
  using namespace special_detail;
  if constexpr (Real32<V>) {
    V a = v_min(v_abs(x), V(3.9999f));  // 3.9999 for NaN
    auto interval = v_to_int(a * V(4.0f));
    V t = a - v_fma(v_to_float(interval), V(0.25f), V(0.125f));
    V r = v_lookup16(kErf[5], interval);
#pragma GCC unroll 5
    for (int i = 4; i >= 0; --i) r = v_fma(r, t, v_lookup16(kErf[i], interval));
    r = v_min(V(1.0f), a * r);
    return v_select(x == x, v_copysign(r, x), x);
  } else {
    return v_map(x, x, (x == x) | (x != x), [](double d) { return __builtin_erf(d); });
  }
}

/// Inverse of the error function; 1 / 3 ULP; infinite at -1 and 1, NaN beyond.
template <Real V>
MLX_FN V erfinv(V x) {
  using namespace special_detail;
  if constexpr (Real32<V>) {
    V r = through_double(x, [](auto d) MLX_INLINED { return erfinv_start(d, false); });
    return erfinv_limits(x, r);
  } else {
    // One step of Halley's method, with erfc where erf is close to 1.
    V y = v_map(x, erfinv_start(x, true), x, v_abs(x) < V(1.0), [](double x, double y) {
      double a = __builtin_fabs(x), b = __builtin_fabs(y);
      double error = a < 0.5 ? __builtin_erf(b) - a : (1 - a) - __builtin_erfc(b);
      double step = error * 0.8862269254527580 * __builtin_exp(b * b);
      return __builtin_copysign(b - step / (1 + b * step), x);
    });
    return erfinv_limits(x, y);
  }
}

}  // namespace mlx::core::m
