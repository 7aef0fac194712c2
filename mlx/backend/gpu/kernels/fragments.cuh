// Products of 16-bit matrices, and of floats rounded to TF32, by a warp: fragments that its lanes
// hold together, how they are read from shared memory, and copies to it that a thread does not wait
// for. Where a lane has which elements is documented with NVIDIA's mma.m16n8k16, mma.m16n8k8 and
// ldmatrix; other compilers get the same functions in terms of shuffles.
#pragma once

#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

/// A 16x16 factor: of the rows lane / 4 and lane / 4 + 8, pairs at 2 (lane % 4), then at 8 more.
using FactorA = uint32_t[4];
/// A 16x8 factor: of the column lane / 4, pairs of rows from 2 (lane % 4) on, then from 8 more.
using FactorB = uint32_t[2];
/// A 16x8 result in float32: two neighbours of the row lane / 4, then of the row lane / 4 + 8.
using Sums = float[4];

template <class T>
MLX_FN uint32_t pair(T low, T high) {
  return static_cast<uint32_t>(low.bits) | static_cast<uint32_t>(high.bits) << 16;
}
/// Two elements, of which the first is `low`.
template <class T>
MLX_FN uint32_t pair_of(float low, float high) {
#ifdef __CUDACC_RTC__
  uint32_t r;
  if constexpr (std::is_same_v<T, bfloat16_t>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  }
  return r;
#else
  return pair(narrowed<T>(low), narrowed<T>(high));
#endif
}

#ifdef __CUDACC_RTC__

template <class T>
MLX_FN void multiply_add(Sums& c, const FactorA& a, uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<T, bfloat16_t>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// A float rounded to the 11 significant bits of TF32.
MLX_FN uint32_t to_tf32(float x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
/// Adds a product of TF32: of the 16x8 factor a lane has the rows lane / 4 and lane / 4 + 8 of the
/// column lane % 4, then of the column lane % 4 + 4; of the 8x8 factor the rows lane % 4 and
/// lane % 4 + 4 of the column lane / 4.
MLX_FN void multiply_add_tf32(Sums& c, const FactorA& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

MLX_FN uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Four 8x8 matrices from shared memory, each as a lane of a factor has it. `row`: a row's address,
/// of matrix i given by the lanes from 8 i on, of 16 bytes that are aligned.
template <class T>
MLX_FN void load_matrices(uint32_t (&r)[4], const T* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
/// The same of transposed matrices.
template <class T>
MLX_FN void load_transposed(uint32_t (&r)[4], const T* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}

/// The lane's part of a transposed 8x8 matrix, of which a lane has two neighbours of row lane / 4.
MLX_FN uint32_t transposed(uint32_t two) {
  uint32_t r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(two));
  return r;
}

/// Copies 16 aligned bytes to shared memory, or clears them, until `wait_for_copies`.
MLX_FN void copy_16(void* to, const void* from, bool some) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(some ? 16 : 0));
}
/// The same of 4 aligned bytes.
MLX_FN void copy_4(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from));
}
MLX_FN void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
/// Ends a group of the thread's copies.
MLX_FN void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups but the last N.
template <int N>
MLX_FN void wait_for_earlier_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/// 2^x, within 2 units in the last place; 0 below 2^-126.
MLX_FN float power_of_2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

#else

template <class T>
MLX_FN float element(uint32_t two, int k) {
  return widened(__builtin_bit_cast(T, static_cast<uint16_t>(two >> 16 * k)));
}

/// A lane's elements of two factors.
struct HeldA {
  uint32_t v[4];
};
struct HeldB {
  uint32_t v[2];
};

template <class T>
MLX_FN void multiply_add(Sums& c, const FactorA& a, uint32_t b0, uint32_t b1) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int t = 0; t < 4; ++t) {
    const HeldA x = __shfl_sync(~0u, HeldA{{a[0], a[1], a[2], a[3]}}, lane / 4 * 4 + t);
    for (int column = 0; column < 2; ++column) {
      const HeldB y = __shfl_sync(~0u, HeldB{{b0, b1}}, (lane % 4 * 2 + column) * 4 + t);
      for (int half = 0; half < 2; ++half)
        for (int row = 0; row < 2; ++row)
          for (int k = 0; k < 2; ++k)
            c[2 * row + column] += element<T>(x.v[2 * half + row], k) * element<T>(y.v[half], k);
    }
  }
}

MLX_FN uint32_t to_tf32(float x) {
  const auto bits = __builtin_bit_cast(uint32_t, x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}
MLX_FN void multiply_add_tf32(Sums& c, const FactorA& a, uint32_t b0, uint32_t b1) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int t = 0; t < 4; ++t) {
    const HeldA x = __shfl_sync(~0u, HeldA{{a[0], a[1], a[2], a[3]}}, lane / 4 * 4 + t);
    for (int column = 0; column < 2; ++column) {
      const HeldB y = __shfl_sync(~0u, HeldB{{b0, b1}}, (lane % 4 * 2 + column) * 4 + t);
      for (int half = 0; half < 2; ++half)
        for (int row = 0; row < 2; ++row)
          c[2 * row + column] +=
              __builtin_bit_cast(float, x.v[2 * half + row]) * __builtin_bit_cast(float, y.v[half]);
    }
  }
}

template <class T>
MLX_FN void load_matrices(uint32_t (&r)[4], const T* row) {
  constexpr int kOfLane = 4 / sizeof(T);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int i = 0; i < 4; ++i)
    memcpy(&r[i], __shfl_sync(~0u, row, 8 * i + lane / 4) + lane % 4 * kOfLane, 4);
}
template <class T>
MLX_FN void load_transposed(uint32_t (&r)[4], const T* row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int i = 0; i < 4; ++i) {
    const T low = __shfl_sync(~0u, row, 8 * i + lane % 4 * 2)[lane / 4];
    const T high = __shfl_sync(~0u, row, 8 * i + lane % 4 * 2 + 1)[lane / 4];
    r[i] = pair(low, high);
  }
}

MLX_FN uint32_t transposed(uint32_t two) {
  const int lane = static_cast<int>(threadIdx.x) % 32, shift = lane / 4 % 2 * 16;
  const int from = lane % 4 * 8 + lane / 8;
  const uint32_t low = __shfl_sync(~0u, two, from) >> shift & 0xffffu;
  return low | (__shfl_sync(~0u, two, from + 4) >> shift & 0xffffu) << 16;
}

MLX_FN void copy_16(void* to, const void* from, bool some) {
  if (some)
    memcpy(to, from, 16);
  else
    memset(to, 0, 16);
}
MLX_FN void copy_4(void* to, const void* from) { memcpy(to, from, 4); }
MLX_FN void wait_for_copies() {}
MLX_FN void end_copies() {}
template <int N>
MLX_FN void wait_for_earlier_copies() {}
MLX_FN float power_of_2(float x) { return exp2f(x); }

#endif

}  // namespace mlx::core::device
