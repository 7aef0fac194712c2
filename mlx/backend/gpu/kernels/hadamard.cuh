// Hadamard transforms: sums and differences at distances 1, 2, 4 ... within parts of a row whose
// length is a power of two, then the products with a matrix of order m. Elements are added in the
// CPU's order.
#pragma once

#include "mlx/backend/gpu/kernels/rows.cuh"

namespace mlx::core::device {

MLX_CONSTANT int kHadamardSlots = 4096;

/// All distances below the length of a tile. Whole: that ends the transform.
template <class T, bool Whole>
MLX_FN void hadamard_tiles(const HadamardArguments& p) {
  using A = Wide<T>;
  MLX_SHARED A x[kHadamardSlots];
  const auto* in = memory<const T>(p.in);
  const A scale = static_cast<A>(p.scale);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kHadamardSlots; first < p.count;
       first += static_cast<int64_t>(gridDim.x) * kHadamardSlots) {
    const int some =
        static_cast<int>(p.count - first < kHadamardSlots ? p.count - first : kHadamardSlots);
    const int t = static_cast<int>(threadIdx.x), tile = static_cast<int>(p.tile);
    for (int i = t; i < some; i += kThreads) x[i] = wide(in[first + i]);
    __syncthreads();
    for (int half = 1; half < tile; half *= 2) {
      for (int pair = t; pair < some / 2; pair += kThreads) {
        const int i = pair / half * 2 * half + pair % half;
        const A a = x[i], b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
      __syncthreads();
    }
    for (int i = t; i < some; i += kThreads) {
      if constexpr (Whole) {
        memory<T>(p.out)[first + i] = stored<T>(x[i] * scale);
      } else {
        memory<A>(p.work)[first + i] = x[i];
      }
    }
    __syncthreads();
  }
}

/// One distance.
template <class T>
MLX_FN void hadamard_stage(const HadamardArguments& p) {
  using A = Wide<T>;
  auto* x = memory<A>(p.work);
  for (int64_t pair = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; pair < p.count / 2;
       pair += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t i = pair / p.half * 2 * p.half + pair % p.half;
    const A a = x[i], b = x[i + p.half];
    x[i] = a + b;
    x[i + p.half] = a - b;
  }
}

/// The matrix of order m, and the scale.
template <class T>
MLX_FN void hadamard_results(const HadamardArguments& p) {
  using A = Wide<T>;
  const auto* work = memory<const A>(p.work);
  const int64_t n = p.m * p.power;
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < p.count;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const auto* row = work + x / n * n + x % p.power;
    const int64_t j = x % n / p.power;
    A sum = p.m == 1 ? row[j * p.power] : A(0);
    for (int64_t l = 0; p.m > 1 && l < p.m; ++l) {
      const A v = row[l * p.power];
      sum = p.signs[j] >> (p.m - 1 - l) & 1 ? sum + v : sum - v;
    }
    memory<T>(p.out)[x] = stored<T>(sum * static_cast<A>(p.scale));
  }
}

}  // namespace mlx::core::device
