// Threefry-2x32-20 on vectors of counters. Several vectors go side by side: a round is a short
// chain of dependent instructions.
#include "mlx/backend/cpu/isa/random.h"

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

using V = Raw<uint32_t>;
constexpr int kLanes = kVectorBytes / 4;
constexpr int kSide = 4;  // vectors at a time

template <int R, int N>
MLX_FN void round(V (&x)[N], V (&y)[N]) {
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    x[i] += y[i];
    y[i] = ((y[i] << R) | (y[i] >> (32 - R))) ^ x[i];
  }
}

template <int N>
MLX_FN void inject(V (&x)[N], V (&y)[N], uint32_t a, uint32_t b) {
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    x[i] += a;
    y[i] += b;
  }
}

template <int N>
MLX_FN void rounds(V (&x)[N], V (&y)[N], const uint32_t key[2]) {
  const uint32_t k0 = key[0], k1 = key[1], k2 = k0 ^ k1 ^ 0x1bd11bdau;
  const auto even = [&] { round<13>(x, y), round<15>(x, y), round<26>(x, y), round<6>(x, y); };
  const auto odd = [&] { round<17>(x, y), round<29>(x, y), round<16>(x, y), round<24>(x, y); };
  inject(x, y, k0, k1);
  even();
  inject(x, y, k1, k2 + 1);
  odd();
  inject(x, y, k2, k0 + 2);
  even();
  inject(x, y, k0, k1 + 3);
  odd();
  inject(x, y, k1, k2 + 4);
  even();
  inject(x, y, k2, k0 + 5);
}

void threefry(const uint32_t key[2], uint32_t start, uint32_t distance, int64_t n, uint32_t* first,
              uint32_t* second) {
  V lanes;
  for (int i = 0; i < kLanes; ++i) lanes[i] = static_cast<uint32_t>(i);
  constexpr int step = kLanes * kSide;
  for (int64_t i = 0; i < n; i += step) {
    V x[kSide], y[kSide];
#pragma GCC unroll 4
    for (int j = 0; j < kSide; ++j) {
      x[j] = lanes + (start + static_cast<uint32_t>(i) + static_cast<uint32_t>(j * kLanes));
      y[j] = x[j] + distance;
    }
    rounds(x, y, key);
    if (n - i >= step) {
#pragma GCC unroll 4
      for (int j = 0; j < kSide; ++j) {
        __builtin_memcpy(first + i + j * kLanes, &x[j], sizeof(V));
        __builtin_memcpy(second + i + j * kLanes, &y[j], sizeof(V));
      }
    } else {
      __builtin_memcpy(first + i, x, (n - i) * sizeof(uint32_t));
      __builtin_memcpy(second + i, y, (n - i) * sizeof(uint32_t));
    }
  }
}

}  // namespace

constinit const RandomKernels random_kernels{threefry};

}  // namespace mlx::core::cpu::MLX_ISA
