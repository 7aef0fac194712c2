// Threefry-2x32-20 on vectors of counters. Several vectors are interleaved, since a round is a
// chain of dependent instructions.
#include "mlx/backend/cpu/isa/random.h"

#include <stddef.h>

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

template <class K, int N>
MLX_FN void inject(V (&x)[N], V (&y)[N], K a, K b) {
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    x[i] += a;
    y[i] += b;
  }
}

/// One key for all, or one for each.
template <class K, int N>
MLX_FN void rounds(V (&x)[N], V (&y)[N], K k0, K k1) {
  const K k2 = k0 ^ k1 ^ 0x1bd11bdau;
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
    rounds(x, y, key[0], key[1]);
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

void words(const uint32_t* key0, const uint32_t* key1, const uint32_t* x, const uint32_t* y,
           const uint32_t* second, int64_t n, uint32_t* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const size_t bytes = (n - i < kLanes ? n - i : kLanes) * sizeof(uint32_t);
    V k0{}, k1{}, which{}, a[1] = {}, b[1] = {};
    __builtin_memcpy(&k0, key0 + i, bytes);
    __builtin_memcpy(&k1, key1 + i, bytes);
    __builtin_memcpy(a, x + i, bytes);
    __builtin_memcpy(b, y + i, bytes);
    __builtin_memcpy(&which, second + i, bytes);
    rounds(a, b, k0, k1);
    const V mask = V{} - which;  // all ones for the second word
    const V word = (a[0] & ~mask) | (b[0] & mask);
    __builtin_memcpy(out + i, &word, bytes);
  }
}

}  // namespace

constinit const RandomKernels random_kernels{threefry, words};

}  // namespace mlx::core::cpu::MLX_ISA
