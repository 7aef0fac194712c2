// Packing, register tiles and stores of the blocked floating-point products. Compiled once per
// instruction set: raw pointers and this namespace only.
#include "mlx/backend/cpu/isa/gemm_kernels.h"
#include "mlx/backend/cpu/isa/gemm_tiles.h"
#include "mlx/backend/cpu/simd/bf16.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

// Register tile: kRows x (kVectors * kLanes) sums, one broadcast and kVectors vectors of B.
#if defined(__AVX512F__)
constexpr int kRows = 12, kVectors = 2;
#elif defined(__ARM_NEON)
constexpr int kRows = 8, kVectors = 3;
#else
constexpr int kRows = 6, kVectors = 2;
#endif
constexpr int64_t kColumns = kVectors * kLanes;
constexpr int64_t kLine = 16;  // units of a line of the cache
constexpr int64_t kAhead = 4;  // units along K for each line that is fetched

// ---- packing -----------------------------------------------------------------------------------

// A source defines how units are made: from `per` elements of type T along K each. `across` reads
// kLanes (or n) units of neighbouring rows, `along` kLanes units of one row; with `kWide`,
// `pack_wide` packs 2 * kLanes units of neighbouring rows.
struct FromF32 {
  using T = uint32_t;
  static constexpr int per = 1, step = 1;
  static constexpr bool kWide = false;
  MLX_INLINE uint32_t unit(const T* p, int64_t, int64_t) { return *p; }
  MLX_INLINE U32 along(const T* p) { return load<U32>(p); }
  MLX_INLINE U32 across(const T* p, int64_t, int64_t) { return load<U32>(p); }
  MLX_INLINE U32 across_n(const T* p, int64_t, int64_t, int64_t n) { return load_n<U32>(p, n); }
};

template <F32 (*kWiden)(U16)>
struct FromHalf {
  using T = uint16_t;
  static constexpr int per = 1, step = 1;
  static constexpr bool kWide = false;
  MLX_INLINE uint32_t unit(const T* p, int64_t, int64_t) {
    U16 h{};
    h[0] = *p;
    return ((U32)kWiden(h))[0];
  }
  MLX_INLINE U32 along(const T* p) { return (U32)kWiden(load<U16>(p)); }
  MLX_INLINE U32 across(const T* p, int64_t, int64_t) { return along(p); }
  MLX_INLINE U32 across_n(const T* p, int64_t, int64_t, int64_t n) {
    return (U32)kWiden(load_n<U16>(p, n));
  }
};

#if defined(__AVX512BW__)
// Word i of a vector of pairs: from the first register, then from the second one.
struct PairOrder {
  alignas(64) uint16_t low[2 * kLanes], high[2 * kLanes];
};
constexpr PairOrder pair_order() {
  PairOrder order{};
  for (int i = 0; i < 2 * kLanes; ++i) {
    order.low[i] = static_cast<uint16_t>(i / 2 + i % 2 * 2 * kLanes);
    order.high[i] = static_cast<uint16_t>(order.low[i] + kLanes);
  }
  return order;
}
constexpr PairOrder kPairOrder = pair_order();
#endif

struct FromPair {
  using T = uint16_t;
  static constexpr int per = 2, step = 1;
#if defined(__AVX512BW__)
  static constexpr bool kWide = true;
  MLX_INLINE void pack_wide(const T* p, int64_t stride_k, uint32_t* to) {
    const auto even = load<__m512i>(p), odd = load<__m512i>(p + stride_k);
    store(to, _mm512_permutex2var_epi16(even, load<__m512i>(kPairOrder.low), odd));
    store(to + kLanes, _mm512_permutex2var_epi16(even, load<__m512i>(kPairOrder.high), odd));
  }
#else
  static constexpr bool kWide = false;
#endif
  MLX_INLINE uint32_t unit(const T* p, int64_t stride_k, int64_t left) {
    return left <= 0 ? 0 : p[0] | (left > 1 ? uint32_t{p[stride_k]} << 16 : 0);
  }
  MLX_INLINE U32 along(const T* p) { return load<U32>(p); }
  MLX_INLINE U32 join(U16 even, U16 odd) { return widened(even) | (widened(odd) << 16); }
  MLX_INLINE U32 across(const T* p, int64_t stride_k, int64_t left) {
    return join(load<U16>(p), left > 1 ? load<U16>(p + stride_k) : U16{});
  }
  MLX_INLINE U32 across_n(const T* p, int64_t stride_k, int64_t left, int64_t n) {
    return join(load_n<U16>(p, n), left > 1 ? load_n<U16>(p + stride_k, n) : U16{});
  }
};

// Pairs, padded with zeros to whole tiles.
struct FromTilePair : FromPair {
  static constexpr int step = kTileUnits;
};

template <class S>
MLX_INLINE int64_t units_of(int64_t k) {
  return (k + S::per * S::step - 1) / (S::per * S::step) * S::step;
}

// Lengths known at compile time become a few moves.
MLX_INLINE void store_some(uint32_t* p, U32 v, int64_t n) {
  if (n == kLanes) {
    store(p, v);
  } else if (n == kRows % kLanes) {
    store_n(p, v, kRows % kLanes);
  } else {
    store_n(p, v, n);
  }
}

// Units [begin, end) of one panel, one by one, for any strides.
template <class S>
void pack_single(const typename S::T* s, int64_t stride_p, int64_t stride_k, int64_t rows,
                 int64_t k, int64_t width, int64_t begin, int64_t end, uint32_t* dst) {
  for (int64_t u = begin; u < end; ++u) {
    const auto* column = s + u * S::per * stride_k;
    for (int64_t r = 0; r < width; ++r) {
      dst[u * width + r] = r < rows ? S::unit(column + r * stride_p, stride_k, k - u * S::per) : 0;
    }
  }
}

// Rows contiguous along K: squares are transposed in registers.
template <class S>
void pack_along(const typename S::T* s, int64_t stride_p, int64_t rows, int64_t k, int64_t width,
                uint32_t* dst) {
  const int64_t units = units_of<S>(k);
  const int64_t full = k / (S::per * kLanes) * kLanes;
  for (int64_t u = 0; u < full; u += kLanes) {
    for (int64_t r = 0; r < width; r += kLanes) {
      const auto* corner = s + r * stride_p + u * S::per;
      U32 square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        square[i] = r + i < rows ? S::along(corner + i * stride_p) : U32{};
        __builtin_prefetch(corner + i * stride_p + 4 * kLanes * S::per);
      }
      transpose(square);
      const int64_t n = smaller(kLanes, width - r);
      auto* out = dst + u * width + r;
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        store_some(out + i * width, square[i], n);
      }
    }
  }
  pack_single<S>(s, stride_p, 1, rows, k, width, full, units, dst);
}

// Neighbouring rows: vectors are copied, across several panels at a time so that memory is read in
// long ranges.
template <class S>
void pack_across(const typename S::T* s, int64_t stride_k, int64_t rows, int64_t k, int64_t width,
                 uint32_t* dst) {
  constexpr int64_t ahead = 4 * S::per, line = 64 / sizeof(*s);
  const int64_t panel = units_of<S>(k) * width;
  for (int64_t left = k; left > 0; left -= S::per) {
    if (left > ahead + 1) {
      for (int64_t i = 0; i < S::per; ++i) {
        for (int64_t r = 0; r < rows; r += line) {
          __builtin_prefetch(s + (ahead + i) * stride_k + r);
        }
      }
    }
    uint32_t* out = dst;
    for (int64_t p = 0; p < rows; p += width) {
      if constexpr (S::kWide) {
        if (width == 2 * kLanes && rows - p >= width && left > 1) {
          S::pack_wide(s + p, stride_k, out);
          out += panel;
          continue;
        }
      }
      for (int64_t r = 0; r < width; r += kLanes) {
        const auto* from = s + p + r;
        const int64_t n = smaller(kLanes, rows - p - r);
        const U32 v = n == kLanes           ? S::across(from, stride_k, left)
                      : n == kRows % kLanes ? S::across_n(from, stride_k, left, kRows % kLanes)
                      : n > 0               ? S::across_n(from, stride_k, left, n)
                                            : U32{};
        store_some(out + r, v, smaller(kLanes, width - r));
      }
      out += panel;
    }
    dst += width;
    s += S::per * stride_k;
  }
  const int64_t missing = units_of<S>(k) - (k + S::per - 1) / S::per;
  for (int64_t p = 0; missing > 0 && p < rows; p += width, dst += panel) {
    __builtin_memset(dst, 0, sizeof(uint32_t) * static_cast<uint64_t>(missing * width));
  }
}

template <class S>
void pack(const void* src, int64_t stride_p, int64_t stride_k, int64_t count, int64_t k,
          int64_t width, uint32_t* dst) {
  const auto* s = static_cast<const typename S::T*>(src);
  const int64_t units = units_of<S>(k);
  const bool across = stride_p == 1 && stride_k != 1;
  const int64_t step = across ? 8 * width : width;
  for (int64_t p = 0; p < count; p += step) {
    const int64_t rows = smaller(step, count - p);
    if (across) {
      pack_across<S>(s, stride_k, rows, k, width, dst);
    } else if (stride_k == 1) {
      pack_along<S>(s, stride_p, rows, k, width, dst);
    } else {
      pack_single<S>(s, stride_p, stride_k, rows, k, width, 0, units, dst);
    }
    s += step * stride_p;
    dst += step * units;
  }
}

// ---- register tiles ----------------------------------------------------------------------------

struct MultiplyFloats {
  MLX_INLINE F32 apply(U32 a, U32 b, F32 c) { return multiply_add((F32)a, (F32)b, c); }
};

#if defined(__AVX512BF16__)
struct MultiplyPairs {
  MLX_INLINE F32 apply(U32 a, U32 b, F32 c) {
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
  }
};
#endif

// Where a register tile finds A: element (i, u) is at data[i * line + u * step]. One stride is 1.
struct Lines {
  const uint32_t* data;
  int64_t line, step;
};

// Memory that comes to the second cache while a tile of packed panels is computed, a line every
// kAhead units: far panels are too slow for the tile. The lines of A follow those of B.
struct Ahead {
  const uint32_t *b, *a;
  int64_t b_lines, a_lines;
};

// Rows I to M of a tile, whose units lie `line` apart: `kAlong` if the sum runs along memory.
template <class Op, bool kAlong, int I, int M, int N>
MLX_INLINE void multiply_rows(const uint32_t* const (&group)[(M + 2) / 3], int64_t line,
                              const U32 (&column)[N], F32 (&sum)[M][N]) {
#if defined(__ARM_NEON)
  // Factors come from lanes: no register for each.
  if constexpr (!kAlong && I + kLanes <= M) {
    const auto factors = (float32x4_t)load<F32>(group[0] + I);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const auto x = (float32x4_t)column[j];
      const auto add = [&](F32& to, auto product) { to = (F32)product((float32x4_t)to); };
      add(sum[I][j], [&](auto s) { return vfmaq_laneq_f32(s, x, factors, 0); });
      add(sum[I + 1][j], [&](auto s) { return vfmaq_laneq_f32(s, x, factors, 1); });
      add(sum[I + 2][j], [&](auto s) { return vfmaq_laneq_f32(s, x, factors, 2); });
      add(sum[I + 3][j], [&](auto s) { return vfmaq_laneq_f32(s, x, factors, 3); });
    }
    if constexpr (I + kLanes < M) multiply_rows<Op, kAlong, I + kLanes>(group, line, column, sum);
    return;
  }
#endif
#pragma GCC unroll 16
  for (int i = I; i < M; ++i) {
    const U32 x = U32{} + (kAlong ? group[i / 3][(i % 3) * line] : group[0][i]);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      sum[i][j] = Op::apply(x, column[j], sum[i][j]);
    }
  }
}

// c[M, n] (+)= sum over `units` units, n <= N * kLanes.
template <class Op, bool kAlong, int M, int N>
void register_tile(const Lines& a, const uint32_t* b, int64_t b_step, int64_t units, float* c,
                   int64_t ld, int64_t n, bool first, const Ahead* ahead) {
  F32 sum[M][N] = {};
  // Three rows share a pointer, so that all pointers stay in registers.
  const uint32_t* group[(M + 2) / 3];
#pragma GCC unroll 4
  for (int g = 0; g < (M + 2) / 3; ++g) group[g] = a.data + (kAlong ? 3 * g * a.line : 0);
  const auto step = [&](int64_t a_step, int64_t b_next) __attribute__((always_inline)) {
    U32 column[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      column[j] = load<U32>(b + j * kLanes);
    }
    multiply_rows<Op, kAlong, 0>(group, a.line, column, sum);
    if constexpr (kAlong) {
#pragma GCC unroll 4
      for (int g = 0; g < (M + 2) / 3; ++g) ++group[g];
    } else {
      group[0] += a_step;
    }
    b += b_next;
    asm volatile("" ::: "memory");  // loads of the next step would need more registers
  };
  int64_t u = 0;
  if constexpr (!kAlong) {
    if (ahead != nullptr) {
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) __builtin_prefetch(c + i * ld + j * kLanes, 1);
      }
      const uint32_t* line = ahead->b;
      int64_t left = ahead->b_lines;
      for (; u + kAhead <= units; u += kAhead) {
#pragma GCC unroll 4
        for (int i = 0; i < kAhead; ++i) step(kRows, kColumns);
        __builtin_prefetch(line, 0, 2);
        line += kLine;
        if (--left == 0) line = ahead->a, left = ahead->a_lines;
      }
    }
  }
  for (; u < units; ++u) step(a.step, b_step);
  const int64_t last = n - (N - 1) * kLanes;
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      float* p = c + i * ld + j * kLanes;
      if (j + 1 < N || last == kLanes) {
        store(p, first ? sum[i][j] : load<F32>(p) + sum[i][j]);
      } else {
        store_n(p, first ? sum[i][j] : load_n<F32>(p, last) + sum[i][j], last);
      }
    }
  }
}

template <class Op, bool kAlong, int M, int N>
void choose_tile(int64_t m, int64_t vectors, const Lines& a, const uint32_t* b, int64_t b_step,
                 int64_t units, float* c, int64_t ld, int64_t n, bool first, const Ahead* ahead) {
  if constexpr (M > 1) {
    if (m < M) {
      return choose_tile<Op, kAlong, M - 1, N>(m, vectors, a, b, b_step, units, c, ld, n, first,
                                               ahead);
    }
  }
  if constexpr (N > 1) {
    if (vectors < N) {
      return choose_tile<Op, kAlong, M, N - 1>(m, vectors, a, b, b_step, units, c, ld, n, first,
                                               ahead);
    }
  }
  register_tile<Op, kAlong, M, N>(a, b, b_step, units, c, ld, n, first, ahead);
}

// All rows by the columns of one panel of B.
template <class Op, bool kAlong>
void panel_product(const GemmFactor& a, const uint32_t* b, int64_t b_step, int64_t m, int64_t n,
                   int64_t units, float* acc, int64_t ld, bool first) {
  for (int64_t i = 0; i < m; i += kRows) {
    const Lines lines = {a.data + i / kRows * a.panel, a.line, a.step};
    choose_tile<Op, kAlong, kRows, kVectors>(smaller(kRows, m - i), (n + kLanes - 1) / kLanes,
                                             lines, b, b_step, units, acc + i * ld, ld, n, first,
                                             nullptr);
  }
}

template <class Op>
void tile(const uint32_t* a, int64_t a_units, const uint32_t* b, int64_t b_units, int64_t m,
          int64_t n, int64_t begin, int64_t end, float* acc, int64_t ld, bool first,
          const GemmAhead* next) {
  const int64_t units = end - begin;
  if (next == nullptr) {
    const GemmFactor rows = {a + begin * kRows, a_units * kRows, 1, kRows};
    for (int64_t j = 0; j < n; j += kColumns) {
      panel_product<Op, false>(rows, b + j * b_units + begin * kColumns, kColumns, m,
                               smaller(kColumns, n - j), units, acc + j, ld, first);
    }
    return;
  }
  // The tiles share the lines of the next panel of B evenly, and those of the next rows of A.
  const int64_t down = (m + kRows - 1) / kRows, across = (n + kColumns - 1) / kColumns;
  const int64_t b_lines = (units * kColumns / kLine + down - 1) / down + 1;
  const int64_t a_lines = (units * down * kRows / kLine + down * across - 1) / (down * across);
  const uint32_t* rows_ahead = next->a;
  for (int64_t j = 0; j < n; j += kColumns) {
    const uint32_t* panel = b + j * b_units + begin * kColumns;
    const uint32_t* panel_ahead = j + kColumns < n ? panel + kColumns * b_units : next->b;
    const int64_t columns = smaller(kColumns, n - j);
    for (int64_t i = 0; i < m; i += kRows) {
      const Ahead ahead = {panel_ahead, rows_ahead, b_lines, a_lines};
      choose_tile<Op, false, kRows, kVectors>(
          smaller(kRows, m - i), (columns + kLanes - 1) / kLanes,
          {a + i * a_units + begin * kRows, 1, kRows}, panel, kColumns, units, acc + i * ld + j, ld,
          columns, first, &ahead);
      panel_ahead += b_lines * kLine;
      rows_ahead += a_lines * kLine;
    }
  }
}

template <class Op>
void strided_tile(const GemmFactor& a, const GemmFactor& b, int64_t m, int64_t n, int64_t units,
                  float* acc, int64_t ld, bool first, uint32_t* edge) {
  const auto product = a.line == 1 ? panel_product<Op, false> : panel_product<Op, true>;
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = smaller(kColumns, n - j);
    const uint32_t* panel = b.data + j / kColumns * b.panel;
    int64_t step = b.step;
    // Vectors of a matrix that is read in place end with its columns: the last ones are padded.
    if (edge != nullptr && b.panel == kColumns && columns % kLanes != 0) {
      pack<FromF32>(panel, 1, step, columns, units, kColumns, edge);
      panel = edge;
      step = kColumns;
    }
    product(a, panel, step, m, columns, units, acc + j, ld, first);
  }
}

// ---- stores ------------------------------------------------------------------------------------

struct ToF32 {
  using T = float;
  MLX_INLINE F32 narrow(F32 x) { return x; }
  MLX_INLINE F32 widen(F32 x) { return x; }
  using V = F32;
};
struct ToF16 {
  using T = uint16_t;
  using V = U16;
  MLX_INLINE U16 narrow(F32 x) { return to_f16(x); }
  MLX_INLINE F32 widen(U16 x) { return from_f16(x); }
};
struct ToBF16 {
  using T = uint16_t;
  using V = U16;
  MLX_INLINE U16 narrow(F32 x) { return to_bf16(x); }
  MLX_INLINE F32 widen(U16 x) { return from_bf16(x); }
};

// n elements `stride` apart, from and to vectors.
template <class O>
MLX_INLINE typename O::V gather(const typename O::T* p, int64_t stride, int64_t n) {
  if (stride == 1) {
    return n == kLanes ? load<typename O::V>(p) : load_n<typename O::V>(p, n);
  }
  typename O::T lane[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) {
    lane[i] = p[i * stride];
  }
  return load<typename O::V>(lane);
}

template <class O>
MLX_INLINE void scatter(typename O::T* p, int64_t stride, typename O::V v, int64_t n) {
  if (stride == 1) {
    n == kLanes ? store(p, v) : store_n(p, v, n);
    return;
  }
  typename O::T lane[kLanes];
  store(lane, v);
  for (int64_t i = 0; i < n; ++i) {
    p[i * stride] = lane[i];
  }
}

/// Stores two vectors by `narrow`, or by the processor's conversion to bfloat16 where it serves.
template <class O, bool kConverts>
MLX_INLINE void store_two(typename O::T* to, F32 low, F32 high) {
#if defined(__AVX512BF16__)
  if constexpr (kConverts && __is_same(O, ToBF16))
    if (store_converted(to, low, high)) return;
#endif
  store(to, O::narrow(low));
  store(to + kLanes, O::narrow(high));
}

/// Rows without an epilogue, whose elements are neighbours.
template <class O, bool kConverts>
void store_rows(const float* acc, int64_t ld, int64_t m, int64_t n, const GemmTarget& out) {
  for (int64_t i = 0; i < m; ++i) {
    auto* to = static_cast<typename O::T*>(out.data) + i * out.row;
    const float* p = acc + i * ld;
    int64_t j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes)
      store_two<O, kConverts>(to + j, load<F32>(p + j), load<F32>(p + j + kLanes));
    for (; j < n; j += kLanes) {
      const int64_t count = smaller(kLanes, n - j);
      store_n(to + j, O::narrow(load_n<F32>(p + j, count)), count);
    }
  }
}

template <class O>
void store_tile(const float* acc, int64_t ld, int64_t m, int64_t n, const GemmTarget& out,
                const GemmEpilogue& epilogue) {
  const auto& add = epilogue.addend;
  if (epilogue.alpha == 1 && add.data == nullptr && out.col == 1)
    return __is_same(O, ToBF16) && converts_to_bf16() ? store_rows<O, true>(acc, ld, m, n, out)
                                                      : store_rows<O, false>(acc, ld, m, n, out);
  const F32 alpha = broadcast(epilogue.alpha), beta = broadcast(epilogue.beta);
  for (int64_t i = 0; i < m; ++i) {
    auto* to = static_cast<typename O::T*>(out.data) + i * out.row;
    const auto* from = static_cast<const typename O::T*>(add.data) + (add.data ? i * add.row : 0);
    for (int64_t j = 0; j < n; j += kLanes) {
      const int64_t count = smaller(kLanes, n - j);
      const float* p = acc + i * ld + j;
      F32 x = count == kLanes ? load<F32>(p) : load_n<F32>(p, count);
      if (epilogue.alpha != 1) {
        x = alpha * x;
      }
      if (add.data != nullptr) {
        x = x + beta * O::widen(gather<O>(from + j * add.col, add.col, count));
      }
      scatter<O>(to + j * out.col, out.col, O::narrow(x), count);
    }
  }
}

}  // namespace

constinit const GemmKernels gemm_kernels = {
    .mr = kRows,
    .nr = kColumns,
    .pack = {pack<FromF32>, pack<FromHalf<from_f16>>, pack<FromHalf<from_bf16>>, pack<FromPair>,
             pack<FromTilePair>},
    .tile = {tile<MultiplyFloats>,
#if defined(__AVX512BF16__)
             tile<MultiplyPairs>
#else
             nullptr
#endif
    },
    .strided_tile = {strided_tile<MultiplyFloats>,
#if defined(__AVX512BF16__)
                     strided_tile<MultiplyPairs>
#else
                     nullptr
#endif
    },
    .store = {store_tile<ToF32>, store_tile<ToF16>, store_tile<ToBF16>},
    .dot = {dot_rows<GemmSource::f32>, dot_rows<GemmSource::f16>, dot_rows<GemmSource::bf16>,
#if defined(__AVX512BF16__)
            dot_rows<GemmSource::bf16_pair>
#else
            nullptr
#endif
    },
    .axpy = {axpy_rows<GemmSource::f32>, axpy_rows<GemmSource::f16>, axpy_rows<GemmSource::bf16>},
    .small = {small_products<GemmSource::f32>, small_products<GemmSource::f16>,
              small_products<GemmSource::bf16>,
#if defined(__AVX512BF16__)
              small_products<GemmSource::bf16_pair>
#else
              nullptr
#endif
    },
    .widen = {widen_row<GemmSource::f32>, widen_row<GemmSource::f16>, widen_row<GemmSource::bf16>},
    .integer = {integer_product<GemmInt::i8>, integer_product<GemmInt::i16>,
                integer_product<GemmInt::i32>, integer_product<GemmInt::i64>,
                integer_product<GemmInt::boolean>},
};

}  // namespace mlx::core::cpu::MLX_ISA
