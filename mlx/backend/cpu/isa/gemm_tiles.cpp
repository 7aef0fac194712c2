// Packing of rows to tiles, and blocks of tiles with AMX. Compiled once per instruction set; the
// unit exists where the compiler's flags name it.
#include "mlx/backend/cpu/isa/gemm_tiles.h"

#include "mlx/backend/cpu/isa/gemm_simd.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

// kLanes rows that are neighbours in memory: pairs along K are joined and the square is transposed.
void pack_neighbours(const uint16_t* s, int64_t stride_k, int64_t rows, int64_t k, uint16_t* dst) {
  U32 square[kLanes];
  for (int64_t u = 0; u < kLanes; ++u) {
    const auto at = [&](int64_t l) { return l < k ? load_n<U16>(s + l * stride_k, rows) : U16{}; };
    square[u] = widened(at(2 * u)) | (widened(at(2 * u + 1)) << 16);
  }
  transpose(square);
  for (int64_t i = 0; i < kLanes; ++i) {
    store(dst + i * kTileDepth, square[i]);
  }
}

// One step for any strides.
void pack_any(const uint16_t* s, int64_t stride_p, int64_t stride_k, int64_t rows, int64_t k,
              uint16_t* dst) {
  for (int64_t i = 0; i < kTileBlock; ++i) {
    for (int64_t l = 0; l < kTileDepth; ++l) {
      dst[i * kTileDepth + l] = i < rows && l < k ? s[i * stride_p + l * stride_k] : 0;
    }
  }
}

// One step of rows that are contiguous along K.
void pack_contiguous(const uint16_t* s, int64_t stride_p, int64_t rows, int64_t k, uint16_t* dst) {
  for (int64_t i = 0; i < kTileBlock; ++i, dst += kTileDepth) {
    if (i >= rows || k < kTileDepth) {
      for (int64_t l = 0; l < kTileDepth; ++l) {
        dst[l] = i < rows && l < k ? s[i * stride_p + l] : 0;
      }
    } else {
      __builtin_memcpy(dst, s + i * stride_p, sizeof(uint16_t) * kTileDepth);
    }
  }
}

}  // namespace

void pack_tile_rows(const uint16_t* src, int64_t stride_p, int64_t stride_k, int64_t rows,
                    int64_t k, uint16_t* dst) {
  for (; k > 0; k -= kTileDepth, src += kTileDepth * stride_k, dst += kTileStrip) {
    if (stride_k == 1) {
      pack_contiguous(src, stride_p, rows, k, dst);
    } else if (stride_p == 1) {
      for (int64_t i = 0; i < kTileBlock; i += kLanes) {
        const int64_t some = smaller(kLanes, rows > i ? rows - i : 0);
        for (int64_t l = 0; l < kTileDepth; l += 2 * kLanes) {
          pack_neighbours(src + i + l * stride_k, stride_k, some, k - l, dst + i * kTileDepth + l);
        }
      }
    } else {
      pack_any(src, stride_p, stride_k, rows, k, dst);
    }
  }
}

#if defined(__AMX_BF16__)

namespace {

// Instructions by their numbers of tiles, which must be literals. The compiler knows nothing of the
// tiles: each statement is volatile, and memory is named where it is read or written.
#define MLX_TILE_LOAD(t, p, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #t::"r"(p), "r"(stride) : "memory")
#define MLX_TILE_STORE(t, p, stride) \
  asm volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"(stride) : "memory")
#define MLX_TILE_ZERO(t) asm volatile("tilezero %%tmm" #t::)
#define MLX_TILE_MULTIPLY(c, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c::)

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

void configure() {
  TileConfig c;
  for (int t = 0; t < 8; ++t) {
    c.row_bytes[t] = 64;
    c.rows[t] = kTileSide;
  }
  asm volatile("ldtilecfg %0" ::"m"(c) : "memory");
}

void release() { asm volatile("tilerelease" ::: "memory"); }

// Tiles 0 to 3 are sums, 4 and 5 rows of A, 6 and 7 columns of B. A block of few rows or columns
// has one tile of them.
template <bool kTwoRows, bool kTwoColumns>
MLX_INLINE void multiply_steps(const char* a, int64_t row, int64_t step, const char* b,
                               int64_t steps) {
  constexpr int64_t kPair = 4 * kTileBlock;  // bytes between pairs along K
  const char* a1 = a + kTileSide * row;
  for (int64_t s = 0; s < steps; ++s) {
    MLX_TILE_LOAD(4, a, row);
    MLX_TILE_LOAD(6, b, kPair);
    if constexpr (kTwoColumns) {
      MLX_TILE_LOAD(7, b + 4 * kTileSide, kPair);
    }
    MLX_TILE_MULTIPLY(0, 4, 6);
    if constexpr (kTwoColumns) {
      MLX_TILE_MULTIPLY(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      MLX_TILE_LOAD(5, a1, row);
      MLX_TILE_MULTIPLY(2, 5, 6);
      if constexpr (kTwoColumns) {
        MLX_TILE_MULTIPLY(3, 5, 7);
      }
    }
    a += step;
    a1 += step;
    b += kTileUnits * kPair;
  }
}

// The sums are never subnormal, so the conversion's flush changes nothing: it rounds to nearest
// even.
MLX_INLINE __m256i narrow(U32 x) { return (__m256i)_mm512_cvtneps_pbh((__m512)x); }

MLX_INLINE __mmask16 first_lanes(int64_t n) {
  return n >= kTileSide ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}

// Stores 16 rows of two tiles of sums, s[2][16][16], of which `rows` and `columns` are valid.
void store_rows(const float* s, int64_t rows, int64_t columns, uint16_t* out, int64_t ld) {
  if (rows == kTileSide && columns == kTileBlock) {
#pragma GCC unroll 16
    for (int r = 0; r < kTileSide; ++r) {
      const auto left = load<__m512>(s + r * kTileSide),
                 right = load<__m512>(s + 256 + r * kTileSide);
      store(out + r * ld, (__m512i)_mm512_cvtne2ps_pbh(right, left));
    }
    return;
  }
  const __mmask16 left = first_lanes(columns), right = first_lanes(columns - kTileSide);
  for (int64_t r = 0; r < rows; ++r, out += ld) {
    _mm256_mask_storeu_epi16(out, left, narrow(load<U32>(s + r * kTileSide)));
    _mm256_mask_storeu_epi16(out + kTileSide, right, narrow(load<U32>(s + 256 + r * kTileSide)));
  }
}

void store_columns(const float* s, int64_t rows, int64_t columns, uint16_t* out, int64_t ld) {
  const __mmask16 mask = first_lanes(rows);
  for (int64_t j = 0; j < columns; j += kTileSide, s += 256, out += kTileSide * ld) {
    U32 square[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      square[i] = load<U32>(s + i * kTileSide);
    }
    transpose(square);
    const int64_t some = smaller(kTileSide, columns - j);
    if (some == kTileSide) {
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        _mm256_mask_storeu_epi16(out + i * ld, mask, narrow(square[i]));
      }
    } else {
      for (int64_t i = 0; i < some; ++i) {
        _mm256_mask_storeu_epi16(out + i * ld, mask, narrow(square[i]));
      }
    }
  }
}

void store_sums(const float* s, int64_t rows, int64_t columns, float* out, int64_t ld) {
  const __mmask16 left = first_lanes(columns), right = first_lanes(columns - kTileSide);
  for (int64_t r = 0; r < rows; ++r, out += ld) {
    _mm512_mask_storeu_epi32(out, left, load<__m512i>(s + r * kTileSide));
    _mm512_mask_storeu_epi32(out + kTileSide, right, load<__m512i>(s + 256 + r * kTileSide));
  }
}

void load_sums(const float* in, int64_t ld, int64_t rows, int64_t columns, float* s) {
  const __mmask16 left = first_lanes(columns), right = first_lanes(columns - kTileSide);
  for (int64_t r = 0; r < rows; ++r, in += ld) {
    store(s + r * kTileSide, _mm512_maskz_loadu_epi32(left, in));
    store(s + 256 + r * kTileSide, _mm512_maskz_loadu_epi32(right, in + kTileSide));
  }
}

// Half a block goes to the output through 2 KiB. With more, loads whose addresses agree with a
// pending store in the low 12 bits wait for it: 4 KiB stop the loads of the next block.
MLX_INLINE void store_half(const TileBlock& t, int64_t first, const float* s) {
  const int64_t rows = smaller(kTileSide, t.rows - first);
  switch (t.store) {
    case TileStore::sums:
      return store_sums(s, rows, t.columns, static_cast<float*>(t.out) + first * t.ld, t.ld);
    case TileStore::rows:
      return store_rows(s, rows, t.columns, static_cast<uint16_t*>(t.out) + first * t.ld, t.ld);
    case TileStore::columns:
      return store_columns(s, rows, t.columns, static_cast<uint16_t*>(t.out) + first, t.ld);
  }
}

template <bool kTwoRows>
void begin_sums(const TileBlock& t, float* s) {
  MLX_TILE_ZERO(0);
  MLX_TILE_ZERO(1);
  MLX_TILE_ZERO(2);
  MLX_TILE_ZERO(3);
  if (t.first) {
    return;
  }
  if (t.rows == (kTwoRows ? kTileBlock : kTileSide) && t.columns == kTileBlock) {
    const int64_t row = 4 * t.start_ld;
    MLX_TILE_LOAD(0, t.start, row);
    MLX_TILE_LOAD(1, t.start + kTileSide, row);
    if constexpr (kTwoRows) {
      MLX_TILE_LOAD(2, t.start + kTileSide * t.start_ld, row);
      MLX_TILE_LOAD(3, t.start + kTileSide * t.start_ld + kTileSide, row);
    }
    return;
  }
  const int64_t row = 4 * kTileSide;
  load_sums(t.start, t.start_ld, smaller(kTileSide, t.rows), t.columns, s);
  MLX_TILE_LOAD(0, s, row);
  MLX_TILE_LOAD(1, s + 256, row);
  if constexpr (kTwoRows) {
    load_sums(t.start + kTileSide * t.start_ld, t.start_ld, t.rows - kTileSide, t.columns, s);
    MLX_TILE_LOAD(2, s, row);
    MLX_TILE_LOAD(3, s + 256, row);
  }
}

template <bool kTwoRows>
void end_sums(const TileBlock& t, float* s) {
  const bool whole = t.rows == (kTwoRows ? kTileBlock : kTileSide) && t.columns == kTileBlock;
  if (whole && t.store == TileStore::sums) {
    auto* out = static_cast<float*>(t.out);
    const int64_t row = 4 * t.ld;
    MLX_TILE_STORE(0, out, row);
    MLX_TILE_STORE(1, out + kTileSide, row);
    if constexpr (kTwoRows) {
      MLX_TILE_STORE(2, out + kTileSide * t.ld, row);
      MLX_TILE_STORE(3, out + kTileSide * t.ld + kTileSide, row);
    }
    return;
  }
  const int64_t row = 4 * kTileSide;
  MLX_TILE_STORE(0, s, row);
  MLX_TILE_STORE(1, s + 256, row);
  store_half(t, 0, s);
  if constexpr (kTwoRows) {
    MLX_TILE_STORE(2, s, row);
    MLX_TILE_STORE(3, s + 256, row);
    store_half(t, kTileSide, s);
  }
}

// Requests the lines of the output, which another core may own, while the products are computed.
void request_output(const TileBlock& t) {
  const bool sums = t.store == TileStore::sums, columns = t.store == TileStore::columns;
  const int64_t lines = columns ? t.columns : t.rows, stride = t.ld * (sums ? 4 : 2);
  auto* out = static_cast<char*>(t.out);
  for (int64_t i = 0; i < lines; ++i, out += stride) {
    __builtin_prefetch(out, 1);
    if (sums) {
      __builtin_prefetch(out + 4 * kTileSide, 1);
    }
  }
}

template <bool kTwoRows, bool kTwoColumns>
void multiply_block(const TileBlock& t) {
  alignas(64) float s[2 * 256];
  request_output(t);
  begin_sums<kTwoRows>(t, s);
  const auto* b = reinterpret_cast<const char*>(t.b);
  multiply_steps<kTwoRows, kTwoColumns>(static_cast<const char*>(t.a), t.a_row, t.a_step, b,
                                        t.steps);
  if (t.tail != nullptr) {
    multiply_steps<kTwoRows, kTwoColumns>(static_cast<const char*>(t.tail), 2 * kTileDepth, 0,
                                          b + t.steps * 4 * kTileUnits * kTileBlock, 1);
  }
  end_sums<kTwoRows>(t, s);
}

// The start of every tile of A must be readable for 16 rows.
void block(const TileBlock& t) {
  const bool columns = t.columns > kTileSide;
  if (t.rows > kTileSide) {
    return columns ? multiply_block<true, true>(t) : multiply_block<true, false>(t);
  }
  columns ? multiply_block<false, true>(t) : multiply_block<false, false>(t);
}

constexpr TileUnit kUnit = {configure, release, block};

}  // namespace

constinit const TileUnit* const tile_unit = &kUnit;

#else

constinit const TileUnit* const tile_unit = nullptr;

#endif

}  // namespace mlx::core::cpu::MLX_ISA
