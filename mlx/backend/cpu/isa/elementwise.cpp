// The table of elementwise kernels for one instruction set, and the kernels that gather, scatter
// and fill tiles.
#include "mlx/backend/cpu/isa/elementwise.h"

#include "mlx/backend/cpu/isa/elementwise_tiles.h"
#include "mlx/backend/cpu/simd/shuffle.h"

namespace mlx::core::cpu::MLX_ISA {

TileFn find_cast(Val from, Val to);
TileFn find_copy(Val v, bool nt);
const LinkKernels& link_kernels();

namespace {

//--- lookup --------------------------------------------------------------------------------------

TileFn find_tile(OpId op, Val v) {
  const TileFn* const tables[kNumDtypes] = {
      bool_tiles,    uint8_tiles,   uint16_tiles,   uint32_tiles,    uint64_tiles,
      int8_tiles,    int16_tiles,   int32_tiles,    int64_tiles,     float16_tiles,
      float32_tiles, float64_tiles, bfloat16_tiles, complex64_tiles, complex128_tiles};
  int row = static_cast<int>(op);
  if (row < kRows) return tables[static_cast<int>(v)][row];
  return row == kRows + 1 ? find_copy(v, false) : nullptr;  // after the rows: cast, copy
}

TileFn find_tile_nt(OpId op, Val v) {
  int row = static_cast<int>(op);
  if (row == kRows + 1) return find_copy(v, true);
  if (row >= kRows || v != Val::float32) return nullptr;
  TileFn nt = float32_nt_tiles[row];
  return nt == float32_tiles[row] ? nullptr : nt;
}

//--- gathering and scattering --------------------------------------------------------------------

/// f(tag) with the item type of that size.
template <class F>
MLX_FN void with_item(int itemsize, F f) {
  switch (itemsize) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    case 8:
      return f(uint64_t());
    default:
      return f(Item16());
  }
}

void copy(void* dst, const void* src, int64_t bytes) {
  char* to = static_cast<char*>(dst);
  const char* from = static_cast<const char*>(src);
  using R = Raw<uint8_t>;
  constexpr int64_t kStep = sizeof(R), kUnroll = 4;
  if (bytes < kLongCopy) {
    __builtin_memcpy(to, from, bytes);
    return;
  }
  R first, last, some[kUnroll];
  __builtin_memcpy(&first, from, kStep);
  __builtin_memcpy(&last, from + bytes - kStep, kStep);
  const int64_t head = kStep - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kStep);
  int64_t i = head;
  for (; i + kUnroll * kStep <= bytes; i += kUnroll * kStep) {
#pragma GCC unroll 4
    for (int k = 0; k < kUnroll; ++k) __builtin_memcpy(&some[k], from + i + k * kStep, kStep);
    char* const aligned = static_cast<char*>(__builtin_assume_aligned(to + i, kStep));
#pragma GCC unroll 4
    for (int k = 0; k < kUnroll; ++k) __builtin_memcpy(aligned + k * kStep, &some[k], kStep);
  }
  for (; i + kStep <= bytes; i += kStep) {
    __builtin_memcpy(&some[0], from + i, kStep);
    __builtin_memcpy(to + i, &some[0], kStep);
  }
  __builtin_memcpy(to, &first, kStep);
  __builtin_memcpy(to + bytes - kStep, &last, kStep);
}

void load_strided(void* dst, const void* src, int64_t stride, int64_t n, int itemsize) {
  with_item(itemsize, [=](auto item) MLX_INLINED {
    using T = decltype(item);
    T* o = static_cast<T*>(dst);
    const T* p = static_cast<const T*>(src);
    if (stride == 1) {
      copy(o, p, n * static_cast<int64_t>(sizeof(T)));
    } else if (stride == -1) {
      MLX_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) o[i] = p[-i];
    } else if (stride == 2) {
      MLX_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) o[i] = p[2 * i];
    } else {
      for (int64_t i = 0; i < n; ++i) o[i] = p[i * stride];
    }
  });
}

void store_strided(void* dst, int64_t stride, const void* src, int64_t n, int itemsize) {
  with_item(itemsize, [=](auto item) MLX_INLINED {
    using T = decltype(item);
    T* o = static_cast<T*>(dst);
    const T* p = static_cast<const T*>(src);
    if (stride == 1) {
      copy(o, p, n * static_cast<int64_t>(sizeof(T)));
    } else {
      for (int64_t i = 0; i < n; ++i) o[i * stride] = p[i];
    }
  });
}

void fill(void* dst, const void* value, int64_t n, int itemsize) {
  with_item(itemsize, [=](auto item) MLX_INLINED {
    using T = decltype(item);
    T* o = static_cast<T*>(dst);
    T v = *static_cast<const T*>(value);
    for (int64_t i = 0; i < n; ++i) o[i] = v;
  });
}

// A square of 16-byte rows, transposed in log2(N) rounds of unpacking (perfect shuffles).
template <class T>
MLX_FN void transpose_block(T* dst, int64_t dst_stride, const T* src, int64_t src_stride) {
  constexpr int N = 16 / sizeof(T);
  using R = Raw<T, 16>;
  R x[N], y[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) __builtin_memcpy(&x[i], src + i * src_stride, 16);
#pragma GCC unroll 4
  for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      const R a = x[i], b = x[i + N / 2];
      y[2 * i] = shuffle_lanes<N>(a, b, [](int l) { return l % 2 * N + l / 2; });
      y[2 * i + 1] = shuffle_lanes<N>(a, b, [](int l) { return l % 2 * N + l / 2 + N / 2; });
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) __builtin_memcpy(dst + i * dst_stride, &x[i], 16);
}

void load_transposed(void* dst, const void* src, int64_t rows, int64_t cols, int64_t row_stride,
                     int64_t col_stride, int itemsize) {
  with_item(itemsize, [=](auto item) MLX_INLINED {
    using T = decltype(item);
    T* o = static_cast<T*>(dst);
    const T* p = static_cast<const T*>(src);
    int64_t full_rows = 0, full_cols = 0;
    if constexpr (sizeof(T) < 16) {
      constexpr int64_t N = 16 / sizeof(T);
      if (row_stride == 1) {
        full_rows = rows / N * N;
        full_cols = cols / N * N;
        for (int64_t c = 0; c < full_cols; c += N) {
          for (int64_t r = 0; r < full_rows; r += N) {
            transpose_block(o + r * cols + c, cols, p + r + c * col_stride, col_stride);
          }
        }
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = r < full_rows ? full_cols : 0; c < cols; ++c) {
        o[r * cols + c] = p[r * row_stride + c * col_stride];
      }
    }
  });
}

void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace

constinit const ElementwiseKernels elementwise_kernels = {
    find_tile, find_tile_nt, find_cast,     link_kernels, fence,
    copy,      load_strided, store_strided, fill,         load_transposed,
};

}  // namespace mlx::core::cpu::MLX_ISA
