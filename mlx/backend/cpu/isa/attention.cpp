// Kernels for rows of attention scores: scaling, masks, exponentials.
#include "mlx/backend/cpu/isa/attention.h"

#include "mlx/backend/cpu/simd/bf16.h"
#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

constexpr int N = VF::N;
constexpr float kLowest = -0x1.fffffep127f;

/// Replaces each vector x of a row by f(start, count, x).
template <class F>
MLX_FN void each_score(float* s, int64_t n, F f) {
  each_vector<N>(n, [=](int64_t i, int64_t some) MLX_INLINED {
    store_some<Float32>(s + i, f(i, some, load_some<Float32>(s + i, some)), some);
  });
}

template <class A>
void add_mask(float* s, int64_t n, float scale, const void* mask) {
  const auto* p = static_cast<const typename A::S*>(mask);
  const VF c = VF(scale);
  each_score(s, n, [=](int64_t i, int64_t some, VF x) MLX_INLINED {
    return x * c + load_some<A>(p + i, some);
  });
}

void scores(float* s, int64_t n, float scale, const void* mask, MaskKind kind) {
  const VF c = VF(scale);
  switch (kind) {
    case MaskKind::f32:
      return add_mask<Float32>(s, n, scale, mask);
    case MaskKind::f16:
      return add_mask<Float16>(s, n, scale, mask);
    case MaskKind::bf16:
      return add_mask<Bfloat16>(s, n, scale, mask);
    case MaskKind::boolean: {
      const auto* p = static_cast<const uint8_t*>(mask);
      return each_score(s, n, [=](int64_t i, int64_t some, VF x) MLX_INLINED {
        int32_t keep[N] = {};
        for (int64_t k = 0; k < some; ++k) keep[k] = p[i + k];
        return v_select(VI::load(keep) != VI(0), x * c, VF(kLowest));
      });
    }
    case MaskKind::none:
      break;
  }
  return each_score(s, n, [=](int64_t, int64_t, VF x) MLX_INLINED { return x * c; });
}

#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int kWide = 4;  // vectors at a time, as registers allow
#else
constexpr int kWide = 2;
#endif
constexpr float kLog2e = 0x1.715476p0f;

/// Calls f(0) to f(kCount - 1).
template <int kCount, class F>
MLX_FN void each(F f) {
#pragma GCC unroll 8
  for (int k = 0; k < kCount; ++k) f(k);
}

/// x - floor(x).
MLX_FN VF fraction(VF x) {
#if defined(__AVX512DQ__)
  return VF((Raw<float>)_mm512_reduce_ps((__m512)x.v, 9));
#else
  return x - v_floor(x);
#endif
}
/// x * 2^floor(n).
MLX_FN VF scale_by_floor(VF x, VF n) {
#if defined(__AVX512F__)
  return v_scale(x, n);  // which takes the floor
#else
  return v_scale(x, v_floor(n));
#endif
}

/// The powers of f in 2^f - 1 for 0 <= f < 1, with errors below a unit in the last place of float32
/// and below 1/600 of one of bfloat16.
template <bool kFloat32>
inline constexpr float kPowers[5] = {0x1.62e4bap-1f, 0x1.ebdb56p-3f, 0x1.c91ce6p-5f, 0x1.277854p-7f,
                                     0x1.e97502p-10f};
template <>
inline constexpr float kPowers<false>[4] = {0x1.62d6c6p-1f, 0x1.ee2452p-3f, 0x1.abf866p-5f,
                                            0x1.b7f738p-7f};

/// e^x for x that are not positive, or NaNs. A product with log2(e) leaves an error of the size
/// that the score has, so that 2^f of the fraction is all that has to be approximated. Each step is
/// done for all vectors before the next one, as a step waits for the last.
template <bool kFloat32, int kCount>
MLX_FN void exponentials(VF (&x)[kCount]) {
  constexpr const auto& powers = kPowers<kFloat32>;
  constexpr int kDegree = sizeof(powers) / sizeof(float);
  VF f[kCount], power[kCount];
  each<kCount>([&](int k) MLX_INLINED { x[k] = v_max(VF(-150.0f), x[k] * VF(kLog2e)); });
  each<kCount>([&](int k) MLX_INLINED { f[k] = fraction(x[k]); });
  each<kCount>([&](int k) MLX_INLINED {
    power[k] = v_fma(VF(powers[kDegree - 1]), f[k], VF(powers[kDegree - 2]));
  });
#pragma GCC unroll 8
  for (int i = kDegree - 3; i >= 0; --i)
    each<kCount>([&](int k) MLX_INLINED { power[k] = v_fma(power[k], f[k], VF(powers[i])); });
  each<kCount>([&](int k)
                   MLX_INLINED { x[k] = scale_by_floor(v_fma(power[k], f[k], VF(1.0f)), x[k]); });
}

template <bool kFloat32>
MLX_FN VF exponential(VF x) {
  VF one[] = {x};
  exponentials<kFloat32>(one);
  return one[0];
}

/// Two registers side by side. Products of bfloat16 take subnormal numbers as zeros, and so may the
/// conversion.
template <class A, bool kConverts>
MLX_FN void store_two(typename A::S* p, VF x, VF y) {
#if defined(__AVX512BF16__)
  if constexpr (sizeof(typename A::S) == 2 && kConverts) {
    const auto both = (__m512i)_mm512_cvtne2ps_pbh((__m512)y.v, (__m512)x.v);
    return _mm512_storeu_si512(p, both);
  }
#endif
  A::store(p, x);
  A::store(p + N, y);
}

/// Combines the lanes of each vector by halves: lane i of the result is of row[i].
template <int D = N / 2, class F>
MLX_FN VF combine_rows(VF (&row)[N], F f) {
#pragma GCC unroll 16
  for (int i = 0; i < D; ++i) {
    const auto a = row[i].v, b = row[i + D].v;
    row[i] = f(VF(shuffle_lanes<N>(a, b, [](int l) { return l & D ? N + l - D : l; })),
               VF(shuffle_lanes<N>(a, b, [](int l) { return l & D ? N + l : l + D; })));
  }
  if constexpr (D > 1)
    return combine_rows<D / 2>(row, f);
  else
    return row[0];
}

/// The largest elements in each lane. A NaN is never the larger one.
MLX_FN VF largest_lanes(const float* s, int64_t n) {
  constexpr int kChains = 4;
  VF top[kChains];
  for (VF& x : top) x = VF(-m::kInf<float>);
  int64_t i = 0;
  for (; i + kChains * N <= n; i += kChains * N) {
#pragma GCC unroll 4
    for (int k = 0; k < kChains; ++k) top[k] = v_max(VF::load(s + i + k * N), top[k]);
  }
  for (; i < n; i += N) {
    const int64_t some = n - i < N ? n - i : N;
    const VF x = load_some<Float32>(s + i, some);
    top[0] = v_max(some < N ? padded(x, some, -m::kInf<float>) : x, top[0]);
  }
  return v_max(v_max(top[0], top[1]), v_max(top[2], top[3]));
}

/// The weights of a row; returns their sums by lane. Vector i is added to sum i % kWide. Scores are
/// rounded as the largest one was: the rest that a fused product keeps of a large score is large.
template <class A, bool kConverts>
MLX_FN VF row_to_weights(const float* s, int64_t n, VF scale, VF shift, typename A::S* to,
                         int64_t step) {
  constexpr int64_t kGroup = WeightTarget::kGroup;
  static_assert(kGroup % (2 * N) == 0);
  constexpr bool kFloat32 = sizeof(typename A::S) == 4;
  const auto place = [=](int64_t i) MLX_INLINED { return to + i / kGroup * step + i % kGroup; };
  VF sum[kWide], x[kWide];
  each<kWide>([&](int k) MLX_INLINED { sum[k] = VF(0.0f); });
  int64_t i = 0;
  for (; i + kWide * N <= n; i += kWide * N) {
    each<kWide>([&](int k) MLX_INLINED { x[k] = VF::load(s + i + k * N) * scale - shift; });
    exponentials<kFloat32>(x);
    for (int k = 0; k < kWide; k += 2) store_two<A, kConverts>(place(i + k * N), x[k], x[k + 1]);
    each<kWide>([&](int k) MLX_INLINED { sum[k] += x[k]; });
  }
  for (int k = 0; k < kWide && i < n; ++k, i += N) {
    const int64_t some = n - i < N ? n - i : N;
    VF e = exponential<kFloat32>(load_some<Float32>(s + i, some) * scale - shift);
    store_some<A>(place(i), e, some);
    sum[k] += some < N ? padded(e, some, 0.f) : e;
  }
  for (int h = kWide / 2; h > 0; h /= 2)
    for (int k = 0; k < h; ++k) sum[k] += sum[k + h];
  return sum[0];
}

/// N rows at a time, so that what is computed once a row is a lane.
template <class A, bool kConverts>
void rows_to_weights(const WeightRows& w) {
  const VF lowest = VF(-m::kInf<float>);
  for (int64_t first = 0; first < w.rows; first += N) {
    const int64_t some = w.rows - first < N ? w.rows - first : N;
    const float* s = w.s + first * w.ld;
    VF row[N];
    for (int64_t r = 0; r < N; ++r) row[r] = r < some ? largest_lanes(s + r * w.ld, w.n) : lowest;
    const VF old = load_some<Float32>(w.largest + first, some);
    const VF found = combine_rows(row, [](VF a, VF b) MLX_INLINED { return v_max(a, b); });
    const VF top = v_max(found * VF(w.scale), old), sums = load_some<Float32>(w.sums + first, some);
    const auto none = top == lowest;  // nothing but -inf and NaN so far
    const VF shift = v_select(none, VF(0.0f), top);
    const VF factor = v_select(none, VF(1.0f), exponential<true>(old - shift));
    float shifts[N];
    shift.store(shifts);
    auto* to = static_cast<typename A::S*>(w.to.data) + first * w.to_row;
    for (int64_t r = 0; r < N; ++r) {
      row[r] = r < some ? row_to_weights<A, kConverts>(s + r * w.ld, w.n, VF(w.scale),
                                                       VF(shifts[r]), to + r * w.to_row, w.to.step)
                        : VF(0.0f);
    }
    const VF more = combine_rows(row, [](VF a, VF b) MLX_INLINED { return a + b; });
    store_some<Float32>(w.largest + first, top, some);
    store_some<Float32>(w.factors + first, factor, some);
    store_some<Float32>(w.sums + first, sums * factor + more, some);
  }
}

void weights(const WeightRows& w) {
  if (!w.to.bf16) return rows_to_weights<Float32, false>(w);
  converts_to_bf16() ? rows_to_weights<Bfloat16, true>(w) : rows_to_weights<Bfloat16, false>(w);
}

void scale(float* x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void add(const float* x, int64_t n, float factor, float* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

void to_scores(const float* p, int64_t n, float* x) {
  VF a = VF(0.0f), b = a;
  int64_t i = 0;
  for (; i + 2 * N <= n; i += 2 * N) {
    a = v_fma(VF::load(p + i), VF::load(x + i), a);
    b = v_fma(VF::load(p + i + N), VF::load(x + i + N), b);
  }
  for (; i < n; i += N) {
    const int64_t some = n - i < N ? n - i : N;
    a = v_fma(load_some<Float32>(p + i, some), load_some<Float32>(x + i, some), a);
  }
  const float mean = total(a + b);
  for (i = 0; i < n; ++i) x[i] = p[i] * (x[i] - mean);
}

}  // namespace

constinit const AttentionKernels attention_kernels{scores, weights, scale, add, to_scores};

}  // namespace mlx::core::cpu::MLX_ISA
