// Kernels for rows of attention scores: scaling, masks, exponentials.
#include "mlx/backend/cpu/isa/attention.h"

#include "mlx/backend/cpu/simd/bf16.h"
#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

constexpr int N = VF::N;
constexpr float kLowest = -0x1.fffffep127f;

/// The largest of f(start, count) over the vectors of a row. Four results are compared at a time,
/// as one comparison waits for the last. A NaN is never the larger one.
template <class F>
MLX_FN float largest_of(int64_t n, F f) {
  constexpr int kChains = 4;
  VF top[kChains];
  for (VF& x : top) x = VF(-m::kInf<float>);
  int64_t i = 0;
  for (; i + kChains * N <= n; i += kChains * N) {
#pragma GCC unroll 4
    for (int k = 0; k < kChains; ++k) top[k] = v_max(f(i + k * N, N), top[k]);
  }
  for (; i < n; i += N) {
    const int64_t some = n - i < N ? n - i : N;
    const VF x = f(i, some);
    top[0] = v_max(some < N ? padded(x, some, -m::kInf<float>) : x, top[0]);
  }
  return largest_lane(v_max(v_max(top[0], top[1]), v_max(top[2], top[3])));
}

float largest(const float* s, int64_t n, float scale) {
  const VF c = VF(scale);
  return largest_of(
      n, [=](int64_t i, int64_t some) MLX_INLINED { return load_some<Float32>(s + i, some) * c; });
}

/// Replaces each vector x of a row by f(start, count, x); returns the largest result.
template <class F>
MLX_FN float each_score(float* s, int64_t n, F f) {
  return largest_of(n, [=](int64_t i, int64_t some) MLX_INLINED {
    const VF x = f(i, some, load_some<Float32>(s + i, some));
    store_some<Float32>(s + i, x, some);
    return x;
  });
}

template <class A>
float add_mask(float* s, int64_t n, float scale, const void* mask) {
  const auto* p = static_cast<const typename A::S*>(mask);
  const VF c = VF(scale);
  return each_score(s, n, [=](int64_t i, int64_t some, VF x) MLX_INLINED {
    return x * c + load_some<A>(p + i, some);
  });
}

float scores(float* s, int64_t n, float scale, const void* mask, MaskKind kind) {
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

/// e^x for x that is not positive, or a NaN; 2 ULP. A product with log2(e) leaves an error of the
/// size that the score has, so that 2^f of the fraction is all that has to be approximated.
MLX_FN VF weight(VF x) {
  constexpr float kPowers[] = {0x1.62e42ap-1f, 0x1.ebf9bcp-3f, 0x1.c6b754p-5f, 0x1.3cea84p-7f,
                               0x1.5bb994p-10f};
  const VF y = v_max(VF(-150.0f), x * VF(0x1.715476p0f)), n = v_rint(y), f = y - n;
  return v_scale(v_fma(m::polynomial(f, kPowers), f, VF(1.0f)), n);
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

template <class A, bool kConverts>
float exponentials(const float* s, int64_t n, float scale, float shift, const WeightTarget& to) {
  constexpr int64_t kGroup = WeightTarget::kGroup;
  static_assert(kGroup % (2 * N) == 0);
  const VF factor = VF(scale), offset = VF(-shift);
  const auto place = [p = static_cast<typename A::S*>(to.data), step = to.step](int64_t i)
                         MLX_INLINED { return p + i / kGroup * step + i % kGroup; };
  VF a = VF(0.0f), b = a;
  int64_t i = 0;
  for (; i + 2 * N <= n; i += 2 * N) {
    const VF e = weight(v_fma(VF::load(s + i), factor, offset));
    const VF f = weight(v_fma(VF::load(s + i + N), factor, offset));
    store_two<A, kConverts>(place(i), e, f);
    a += e;
    b += f;
  }
  for (; i < n; i += N) {
    const int64_t some = n - i < N ? n - i : N;
    VF e = weight(v_fma(load_some<Float32>(s + i, some), factor, offset));
    store_some<A>(place(i), e, some);
    if (some < N) e = padded(e, some, 0.f);
    a += e;
  }
  return total(a + b);
}

float weights(const float* s, int64_t n, float scale, float shift, const WeightTarget& p) {
  if (!p.bf16) return exponentials<Float32, false>(s, n, scale, shift, p);
  return converts_to_bf16() ? exponentials<Bfloat16, true>(s, n, scale, shift, p)
                            : exponentials<Bfloat16, false>(s, n, scale, shift, p);
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

constinit const AttentionKernels attention_kernels{largest, scores, weights, scale, add, to_scores};

}  // namespace mlx::core::cpu::MLX_ISA
