// Kernels for rows of attention scores: scaling, masks, exponentials.
#include "mlx/backend/cpu/isa/attention.h"

#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

constexpr int N = VF::N;
constexpr float kLowest = -0x1.fffffep127f;

/// Calls f(start, VF of scores) for each vector of a row, with the last one padded, and stores the
/// results; returns the largest.
template <class F>
MLX_FN float each_score(float* s, int64_t n, F f) {
  VF largest = VF(-m::kInf<float>);
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    VF x = f(i, N, VF::load(s + i));
    x.store(s + i);
    largest = larger(largest, x);
  }
  if (i < n) {
    VF x = padded(f(i, n - i, VF::load_partial(s + i, n - i)), n - i, -m::kInf<float>);
    x.store_partial(s + i, n - i);
    largest = larger(largest, x);
  }
  return largest_lane(largest);
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

template <class A>
float exponentials(const float* s, int64_t n, float shift, typename A::S* p) {
  const VF offset = VF(shift);
  VF a = VF(0.0f), b = a;
  int64_t i = 0;
  for (; i + 2 * N <= n; i += 2 * N) {
    VF e = m::exp(VF::load(s + i) - offset), f = m::exp(VF::load(s + i + N) - offset);
    A::store(p + i, e);
    A::store(p + i + N, f);
    a += e;
    b += f;
  }
  for (; i < n; i += N) {
    const int64_t some = n - i < N ? n - i : N;
    VF e = m::exp(load_some<Float32>(s + i, some) - offset);
    store_some<A>(p + i, e, some);
    if (some < N) e = padded(e, some, 0.f);
    a += e;
  }
  return total(a + b);
}

float weights(const float* s, int64_t n, float shift, void* p, bool bf16) {
  return bf16 ? exponentials<Bfloat16>(s, n, shift, static_cast<uint16_t*>(p))
              : exponentials<Float32>(s, n, shift, static_cast<float*>(p));
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
