// Products of packed codes with rows of 16-bit integers, in two planes of bytes that VNNI
// multiplies with codes of 2, 4 and 8 bits. Included by files that are compiled once per
// instruction set.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mlx/backend/cpu/isa/gemm_simd.h"
#include "mlx/backend/cpu/isa/quantized.h"

namespace mlx::core::cpu::MLX_ISA {

template <int M>
struct RowCount {
  static constexpr int value = M;
};
/// Calls `f` with RowCount<m>, for 1 to kQuantRows rows.
template <class F>
MLX_INLINE void with_rows(int64_t m, F f) {
  switch (m) {
    case 1:
      return f(RowCount<1>{});
    case 2:
      return f(RowCount<2>{});
    case 3:
      return f(RowCount<3>{});
    default:
      return f(RowCount<kQuantRows>{});
  }
}

/// How codes become unsigned bytes: their difference from `kZero`, times `kUnit`, is the value.
struct OwnBytes {
  static constexpr int kZero = 0;
  static constexpr float kUnit = 1;
#if defined(__AVX512VNNI__)
  MLX_INLINE __m512i bytes(__m512i codes) { return codes; }
#endif
};

#if defined(__AVX512VNNI__)

/// Products with codes of the format C. `Scales` gives the scales of 16 words, by lane.
template <class C, class Scales>
struct ByteProducts {
  static constexpr int kPhases = 8 / C::bits;  ///< codes of a byte
  static constexpr int64_t kCodes = 512 / C::bits;

  /// Integers of the codes of 16 words. Plane p has those of the codes that are p-th in their byte.
  struct alignas(64) Record {
    int8_t low[kPhases][64], high[kPhases][64];
    float step[16];
    int32_t start[16];  ///< contribution of `kZero`
  };

  /// Writes whole multiples of the step nearest to the n floats of a group; false if these have a
  /// NaN, an infinity, or a number so large that the others would lose bits that matter without it.
  MLX_INLINE bool round_group(const float* x, int64_t n, float& step, int16_t* to) {
    constexpr float kMostRatio = 16, kExact = 0x1p-6f, kLeast = 0x1p-100f, kMost = 0x1p100f;
    F32 most{}, least = broadcast(kMost), sum{};
    I32 nonzero{};
    for (int64_t i = 0; i < n; i += kLanes) {
      const F32 v = load<F32>(x + i), a = v < F32{} ? -v : v;
      most = a < most ? most : a;
      least = (a < least) & (a != F32{}) ? a : least;
      sum += a;
      nonzero -= (I32)(a != F32{});
    }
    float largest = 0, smallest = kMost, total = 0;
    int count = 0;
    for (int l = 0; l < kLanes; ++l) {
      largest = most[l] < largest ? largest : most[l];
      smallest = least[l] < smallest ? least[l] : smallest;
      total += sum[l];
      count += nonzero[l];
    }
    step = 0;
    if (total == 0) {
      __builtin_memset(to, 0, static_cast<size_t>(n) * sizeof(int16_t));
      return true;
    }
    if (!(largest >= kLeast && total <= kMost)) return false;  // the sum keeps a NaN
    const bool alike =
        2 * largest <= total && largest * static_cast<float>(count) <= kMostRatio * total;
    if (!alike && smallest < kExact * largest) return false;
    // A power of two: bfloat16 numbers of more than 1/64 of the largest one are exact.
    uint32_t bits;
    __builtin_memcpy(&bits, &largest, sizeof(bits));
    const uint32_t exponent = bits >> 23 << 23;
    __builtin_memcpy(&step, &exponent, sizeof(step));
    step *= 0x1p-14f;
    constexpr float kLargestInteger = 127 * 256 + 127;
    if (largest > kLargestInteger * step) step *= 2;
    const F32 inverse = broadcast(1 / step);
    for (int64_t i = 0; i < n; i += kLanes) {
      const __m512i q = _mm512_cvtps_epi32(load<F32>(x + i) * inverse);
      _mm256_storeu_si256((__m256i_u*)(to + i), _mm512_cvtepi32_epi16(q));
    }
    return true;
  }

  static void split(float* x, int64_t n, int64_t group, void* to, uint8_t* apart) {
    auto* record = static_cast<Record*>(to);
    constexpr int64_t kGroup = C::bits == 8 ? 128 : kCodes;  // a group or a record, the larger
    for (int64_t at = 0; at < n; at += kGroup, record += kGroup / kCodes) {
      alignas(64) int16_t integers[kGroup] = {};
      float steps[kGroup / 16] = {};
      bool fine = true;
      for (int64_t g = 0; g < kGroup && at + g < n; g += group) {
        float step;
        fine &= round_group(x + at + g, smaller(group, n - at - g), step, integers + g);
        for (int64_t i = g; i < g + group && i < kGroup; i += 16) steps[i / 16] = step;
      }
      for (int64_t i = 0; fine && i < smaller(kGroup, n - at); i += 16) {
        const __m512i q = _mm512_cvtepi16_epi32(_mm256_load_si256((const __m256i*)(integers + i)));
        store(x + at + i, (F32)_mm512_cvtepi32_ps(q) * broadcast(steps[i / 16]));
      }
      for (int64_t r = 0; r < kGroup / kCodes && at + r * kCodes < n; ++r) {
        *apart++ = !fine;
        if (fine)
          fill(record[r], integers + r * kCodes, steps + r * kCodes / 16);
        else
          __builtin_memset(record + r, 0, sizeof(Record));
      }
    }
  }

  MLX_INLINE void fill(Record& r, const int16_t* x, const float* steps) {
    for (int p = 0; p < kPhases; ++p)
      for (int i = 0; i < 64; ++i) {
        const int v = x[i * kPhases + p];
        r.low[p][i] = static_cast<int8_t>(v);
        r.high[p][i] = static_cast<int8_t>((v + 128) >> 8);
      }
    for (int l = 0; l < 16; ++l) {
      int sum = 0;
      if constexpr (C::kZero != 0)
        for (int i = 0; i < 4 * kPhases; ++i) sum += x[l * 4 * kPhases + i];
      r.start[l] = -C::kZero * sum;
      r.step[l] = C::kUnit * steps[l * 4 * kPhases / 16];
    }
  }

  /// R rows of codes at once: a record of x is loaded for all of them.
  template <int M, int R>
  static void rows(const PackedRows& of_codes, int64_t first, int64_t count, int64_t group_words,
                   const RowsOfBytes& of_x, float* acc, int64_t ld) {
    constexpr int kMask = (1 << C::bits) - 1;
    const __m512i mask = _mm512_set1_epi8(static_cast<char>(kMask));
    const Scales lane_scales(group_words);
    const uint32_t* const words = of_codes.words + first * of_codes.row_words;
    const float* const scales = of_codes.scales + first * of_codes.row_scales;
    const char* x = static_cast<const char*>(of_x.records);
    const int64_t x_row = of_x.row_bytes;
    // Lines one after the other, as they lie behind these rows: the processor's own prefetcher sees
    // no order in several rows at once.
    const uint32_t* ahead = words + 1024;
    F32 sum[R][M] = {};
    for (int64_t at = 0; at < count; at += 16, x += sizeof(Record), ahead += 16 * R) {
      __m512i w[R], low[R][M], high[R][M];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const uint32_t* const from = words + r * of_codes.row_words + at;
        w[r] = (__m512i)(count - at >= 16 ? load<U32>(from) : load_n<U32>(from, count - at));
        __builtin_prefetch(ahead + 16 * r);
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) {
          low[r][i] = high[r][i] = _mm512_setzero_si512();
          if constexpr (C::kZero != 0) low[r][i] = _mm512_load_si512(of(x, x_row, i).start);
        }
      }
#pragma GCC unroll 4
      for (int p = 0; p < kPhases; ++p) {
        __m512i codes[R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const __m512i shifted =
              p == 0 ? w[r] : _mm512_srli_epi32(w[r], static_cast<unsigned>(p * C::bits));
          codes[r] = C::bytes(kPhases == 1 ? w[r] : _mm512_and_si512(shifted, mask));
        }
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) {
          const Record& record = of(x, x_row, i);
          const __m512i lows = _mm512_load_si512(record.low[p]),
                        highs = _mm512_load_si512(record.high[p]);
#pragma GCC unroll 4
          for (int r = 0; r < R; ++r) {
            low[r][i] = _mm512_dpbusd_epi32(low[r][i], codes[r], lows);
            high[r][i] = _mm512_dpbusd_epi32(high[r][i], codes[r], highs);
          }
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const F32 scale = lane_scales(scales + r * of_codes.row_scales, at);
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) {
          const I32 product = (I32)_mm512_add_epi32(low[r][i], _mm512_slli_epi32(high[r][i], 8));
          sum[r][i] = multiply_add(__builtin_convertvector(product, F32),
                                   scale * load<F32>(of(x, x_row, i).step), sum[r][i]);
        }
      }
    }
    if (of_codes.biases) add_biases<M, R>(of_codes, first, count / group_words, of_x, sum);
    for (int r = 0; r < R; ++r)
      for (int i = 0; i < M; ++i) acc[i * ld + first + r] += sum_lanes(sum[r][i]);
  }
  /// Adds the bias of each group times the group's sum, group g in lane g mod 16.
  template <int M, int R>
  MLX_INLINE void add_biases(const PackedRows& of_codes, int64_t first, int64_t groups,
                             const RowsOfBytes& of_x, F32 (&sum)[R][M]) {
    const float* const biases = of_codes.biases + first * of_codes.row_biases;
    for (int64_t g = 0; g < groups; g += kLanes) {
      const int64_t some = smaller(kLanes, groups - g);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        const F32 sums = load_n<F32>(of_x.sums + i * of_x.row_sums + g, some);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          sum[r][i] = multiply_add(load_n<F32>(biases + r * of_codes.row_biases + g, some), sums,
                                   sum[r][i]);
      }
    }
  }
  MLX_INLINE const Record& of(const char* x, int64_t x_row, int i) {
    return *reinterpret_cast<const Record*>(x + i * x_row);
  }

  static void dot(const PackedRows& of_codes, int64_t k, int64_t group, const RowsOfBytes& x,
                  float* acc, int64_t ld) {
    const int64_t count = k * C::bits / 32, per_group = group * C::bits / 32;
    with_rows(x.count, [&](auto rows_of_x) {
      constexpr int kM = rows_of_x.value, kR = kM == 1 ? 4 : kM == 2 ? 2 : 1;
      int64_t r = 0;
      for (; r + kR <= of_codes.count; r += kR)
        rows<kM, kR>(of_codes, r, count, per_group, x, acc, ld);
      for (; r < of_codes.count; ++r) rows<kM, 1>(of_codes, r, count, per_group, x, acc, ld);
    });
  }

  static constexpr QuantBytes table{kCodes, sizeof(Record), split, dot};
};

#endif

}  // namespace mlx::core::cpu::MLX_ISA
