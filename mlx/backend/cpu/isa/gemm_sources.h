// How products that read their factors in place multiply elements of a dtype. Included by files
// that are compiled once per instruction set.
#pragma once

#include "mlx/backend/cpu/isa/gemm_simd.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

// A source defines how `per` elements of x and w are multiplied in each lane.
struct Floats {
  using X = float;
  using W = float;
  static constexpr int per = 1;
  static constexpr bool kPrefetch = false;  // hardware prefetchers follow rows, and are disturbed
  MLX_INLINE F32 weights(const W* w) { return load<F32>(w); }
  MLX_INLINE F32 weights_n(const W* w, int64_t n) { return load_n<F32>(w, n); }
  MLX_INLINE F32 inputs(const X* x) { return load<F32>(x); }
  MLX_INLINE F32 inputs_n(const X* x, int64_t n) { return load_n<F32>(x, n); }
  MLX_INLINE F32 multiply(F32 x, F32 w, F32 sum) { return multiply_add(x, w, sum); }
};

template <F32 (*kWiden)(U16)>
struct Halves : Floats {
  using W = uint16_t;
  MLX_INLINE F32 weights(const W* w) { return kWiden(load<U16>(w)); }
  MLX_INLINE F32 weights_n(const W* w, int64_t n) { return kWiden(load_n<U16>(w, n)); }
};

#if defined(__AVX512BF16__)
struct Pairs {
  using X = uint16_t;
  using W = uint16_t;
  static constexpr int per = 2;
  // Processors with fast pairs (AMD's) prefetch within a page of 4 KB, half a row of 4,096.
  static constexpr bool kPrefetch = true;
  MLX_INLINE U32 weights(const W* w) { return load<U32>(w); }
  MLX_INLINE U32 weights_n(const W* w, int64_t n) {
    return (U32)_mm512_maskz_loadu_epi16((1u << n) - 1, w);
  }
  MLX_INLINE U32 inputs(const X* x) { return weights(x); }
  MLX_INLINE U32 inputs_n(const X* x, int64_t n) { return weights_n(x, n); }
  MLX_INLINE F32 multiply(U32 x, U32 w, F32 sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
  }
};
#endif

template <GemmSource>
struct SourceOf {
  using type = Floats;
};
template <>
struct SourceOf<GemmSource::f16> {
  using type = Halves<from_f16>;
};
template <>
struct SourceOf<GemmSource::bf16> {
  using type = Halves<from_bf16>;
};
#if defined(__AVX512BF16__)
template <>
struct SourceOf<GemmSource::bf16_pair> {
  using type = Pairs;
};
#endif

}  // namespace

}  // namespace mlx::core::cpu::MLX_ISA
