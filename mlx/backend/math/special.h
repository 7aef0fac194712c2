// Error function, its complement and its inverse over a value type; error bounds are given at each
// function, as float32 / float64 ULP.
#pragma once

#include "mlx/backend/math/base.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::m {

namespace special_detail {

// erf(x) on 16 intervals of 17/64: the centre c of each, chosen so that erf(c) is close to a float,
// then a polynomial of degree 5 in x - c, without the term x in the first one.
inline constexpr float kErfCentre[16] = {0.0f,        0.265626431f, 0.531247199f, 0.796874225f,
                                         1.06249332f, 1.32813108f,  1.59373987f,  1.85937393f,
                                         2.12499142f, 2.39063072f,  2.65623569f,  2.92185831f,
                                         3.18735838f, 3.453125f,    3.71875f,     3.984375f};
inline constexpr float kErf[6][16] = {
    {0.0f, 0.292824745f, 0.547526062f, 0.740236521f, 0.867055833f, 0.939654529f, 0.975796819f,
     0.99145025f, 0.997345865f, 0.999277413f, 0.999827683f, 0.999964058f, 0.999993443f,
     0.999998987f, 0.999999881f, 1.0f},
    {0.128379166f, 1.05150759f, 0.850916505f, 0.597963095f, 0.364908069f, 0.193369985f,
     0.0889905915f, 0.0355615839f, 0.0123412693f, 0.00371887907f, 0.00097331265f, 0.000221193739f,
     4.36865084e-05f, 7.47990862e-06f, 1.11314716e-06f, 1.4385769e-07f},
    {3.24372593e-07f, -0.279302686f, -0.452040464f, -0.476498574f, -0.38771376f, -0.256823629f,
     -0.141829923f, -0.0661229268f, -0.0262248702f, -0.00889007933f, -0.00258503528f,
     -0.000646126922f, -0.000139119657f, -3.88871085e-05f, -1.55961716e-05f, -9.86513078e-06f},
    {-0.376143992f, -0.301067084f, -0.12355759f, 0.0538098551f, 0.152989343f, 0.162937492f,
     0.121030368f, 0.0701121464f, 0.033038944f, 0.0129295299f, 0.00425351784f, 0.00118501799f,
     0.000281295739f, 5.69558651e-05f, 9.88844567e-06f, -8.44746774e-06f},
    {0.000320502324f, 0.132061794f, 0.182307079f, 0.136881202f, 0.0482186638f, -0.0220499989f,
     -0.0487837531f, -0.0430247039f, -0.0264046993f, -0.0125659844f, -0.004840618f, -0.00154179404f,
     -0.000415148912f, 0.00064712757f, 0.000630629016f, 0.000623626402f},
    {0.110816434f, 0.077137731f, -0.000943622785f, -0.0591123179f, -0.0659266487f, -0.0368770249f,
     -0.00519733643f, 0.0108693419f, 0.0124313422f, 0.00807238836f, 0.00383428065f, 0.00143299543f,
     0.000433178269f, 0.000108805485f, 2.28535373e-05f, 0.0013244811f},
};

// exp(x^2) erfc(x) (1 + 2x) for x >= 0 as a function of (x - 3) / (x + 3); relative error below
// 2^-31.
inline constexpr double kScaledErfc[] = {
    1.2530080582697297,    -0.13562110604544485,    -0.047562294344085419,   0.12964515488975925,
    -0.11927366386876155,  0.068308081219937201,    -0.023770508435900004,   0.0025290477145818596,
    0.0018886481087254777, -0.00077865535904117763, -0.00010501055530637625, 0.00012277868723895258,
    4.639653474354469e-6,  -1.7412229953329452e-5,  -3.4044920600058961e-7,  1.6946746071394407e-6,
    5.5169465368027857e-8};

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

// The same for float, in two ranges; relative error below 2^-27. The first coefficient is less
// by 1.
inline constexpr float kNear32[] = {
    0.127374396f,   0.247832894f,     0.00425064191f,   -0.00237644324f, 0.000100283236f,
    3.8228678e-05f, -4.40254917e-06f, -5.24058635e-07f, 1.41761234e-07f, -8.77849615e-09f};
inline constexpr float kMiddle32[] = {
    2.95832014f,     1.00371873f,    0.00704904646f,   -0.00530104572f, 0.00378166814f,
    -0.00252097286f, 0.00131062767f, -0.000323104789f, -0.00017370953f, 0.00012915858f};

// erfinv for |x| < 1.
template <Real32 V>
MLX_FN V erfinv_start(V x) {
  using namespace exp_detail;
  auto [k, f] = split((V(1.0f) - x) * (V(1.0f) + x));
  V w = -v_fma(k, V(kLn2High<float>), log_of_mantissa(f, k * V(kLn2Low<float>)));
  V r = v_fma(x, polynomial(w - V(1.0f), kNear32), x);
  auto far = w > V(5.0f);
  if (v_any(far)) [[unlikely]]
    r = v_select(far, x * polynomial(v_sqrt(w) - V(3.125f), kMiddle32), r);
  return r;
}
// The same to 27 bits.
template <Real64 V>
MLX_FN V erfinv_start(V x) {
  V w = -log((V(1.0) - x) * (V(1.0) + x)), r = polynomial(w - V(3.125), kNear);
  if (v_any(w > V(6.25))) [[unlikely]] {
    V s = v_sqrt(w);
    r = v_select(w > V(6.25), polynomial(s - V(3.25), kMiddle), r);
    r = v_select(s > V(4.0), polynomial(s - V(5.1), kFar), r);
  }
  return x * r;
}
template <Real V>
MLX_FN V erfinv_limits(V x, V r) {
  using T = typename V::elem;
  V a = v_abs(x);
  r = v_copysign(v_select(a < V(T(1)), r, V(kInf<T>)), x);
  return v_select(a <= V(T(1)), r, V(kNan<T>));
}

}  // namespace special_detail

/// x[i] = erf(x[i]) for K vectors, interleaved step by step to hide instruction latencies.
template <int K, Real32 V>
MLX_FN void erf_each(V* x) {
  using namespace special_detail;
  V a[K], nearest[K], t[K], r[K];
#define MLX_EACH _Pragma("GCC unroll 8") for (int k = 0; k < K; ++k)
  MLX_EACH a[k] = v_min(V(4.1f), v_abs(x[k]));  // NaN is preserved
  MLX_EACH nearest[k] = v_fma(a[k], V(64.0f / 17.0f), V(kRounder<float>));
  MLX_EACH t[k] = a[k] - v_lookup16(kErfCentre, v_bits(nearest[k]));
  MLX_EACH r[k] = v_lookup16(kErf[5], v_bits(nearest[k]));
#pragma GCC unroll 4
  for (int i = 4; i >= 1; --i)
    MLX_EACH r[k] = v_fma(r[k], t[k], v_lookup16(kErf[i], v_bits(nearest[k])));
  MLX_EACH a[k] =
      v_lookup16_unless(nearest[k] == V(kRounder<float>), t[k], kErf[0], v_bits(nearest[k]));
  MLX_EACH x[k] = v_copysign(v_fma(r[k], t[k], a[k]), x[k]);
#undef MLX_EACH
}

/// Error function; 1.6 / 1.25 ULP.
template <Real V>
MLX_FN V erf(V x) {
  if constexpr (Real32<V>) {
    erf_each<1>(&x);
    return x;
  } else {
    return v_map(x, x, (x == x) | (x != x), [](double d) { return __builtin_erf(d); });
  }
}

/// 1 - erf(x), accurate where that is small; 1 / 3 ULP.
template <Real V>
MLX_FN V erfc(V x) {
  if constexpr (Real32<V>) {
    return through_double(x, [](auto d) MLX_INLINED {
      using D = decltype(d);
      D a = v_min(D(30.0), v_abs(d)), t = (a - D(3.0)) / (a + D(3.0));
      D r = exp(-a * a) * polynomial(t, special_detail::kScaledErfc) / (D(1.0) + a + a);
      return v_select(d < D(0.0), D(2.0) - r, r);
    });
  } else {
    return v_map(x, x, (x == x) | (x != x), [](double d) { return __builtin_erfc(d); });
  }
}

/// Inverse of the error function; 2 / 3 ULP; infinite at -1 and 1, NaN beyond.
template <Real V>
MLX_FN V erfinv(V x) {
  using namespace special_detail;
  if constexpr (Real32<V>) {
    return erfinv_limits(x, erfinv_start(x));
  } else {
    // One step of Halley's method, with erfc where erf is close to 1.
    V y = v_map(x, erfinv_start(x), x, v_abs(x) < V(1.0), [](double x, double y) {
      double a = __builtin_fabs(x), b = __builtin_fabs(y);
      double error = a < 0.5 ? __builtin_erf(b) - a : (1 - a) - __builtin_erfc(b);
      double step = error * 0.8862269254527580 * __builtin_exp(b * b);
      return __builtin_copysign(b - step / (1 + b * step), x);
    });
    return erfinv_limits(x, y);
  }
}

}  // namespace mlx::core::m
