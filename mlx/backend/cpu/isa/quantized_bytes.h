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

  template <int M>
  static void rows(const uint32_t* words, const float* scales, int64_t count, int64_t group_words,
                   const char* x, int64_t x_row, float* acc, int64_t ld) {
    constexpr int kMask = (1 << C::bits) - 1;
    const __m512i mask = _mm512_set1_epi8(static_cast<char>(kMask));
    const Scales lane_scales(group_words);
    F32 sum[M] = {};
    for (int64_t at = 0; at < count; at += 16, x += sizeof(Record)) {
      const auto w =
          (__m512i)(count - at >= 16 ? load<U32>(words + at) : load_n<U32>(words + at, count - at));
      __builtin_prefetch(words + at + 512);
      __m512i low[M], high[M];
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        low[i] = high[i] = _mm512_setzero_si512();
        if constexpr (C::kZero != 0) low[i] = _mm512_load_si512(of(x, x_row, i).start);
      }
#pragma GCC unroll 4
      for (int p = 0; p < kPhases; ++p) {
        const __m512i shifted =
            p == 0 ? w : _mm512_srli_epi32(w, static_cast<unsigned>(p * C::bits));
        const __m512i codes = C::bytes(kPhases == 1 ? w : _mm512_and_si512(shifted, mask));
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) {
          const Record& r = of(x, x_row, i);
          low[i] = _mm512_dpbusd_epi32(low[i], codes, _mm512_load_si512(r.low[p]));
          high[i] = _mm512_dpbusd_epi32(high[i], codes, _mm512_load_si512(r.high[p]));
        }
      }
      const F32 scale = lane_scales(scales, at);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        const I32 product = (I32)_mm512_add_epi32(low[i], _mm512_slli_epi32(high[i], 8));
        sum[i] = multiply_add(__builtin_convertvector(product, F32),
                              scale * load<F32>(of(x, x_row, i).step), sum[i]);
      }
    }
    for (int i = 0; i < M; ++i) acc[i * ld] = sum_lanes(sum[i]);
  }
  MLX_INLINE const Record& of(const char* x, int64_t x_row, int i) {
    return *reinterpret_cast<const Record*>(x + i * x_row);
  }

  static void dot(const uint32_t* words, const float* scales, int64_t k, int64_t group,
                  const void* x, int64_t x_row, int64_t m, float* acc, int64_t ld) {
    const int64_t count = k * C::bits / 32, per_group = group * C::bits / 32;
    with_rows(m, [&](auto rows_of_x) {
      rows<rows_of_x.value>(words, scales, count, per_group, static_cast<const char*>(x), x_row,
                            acc, ld);
    });
  }

  static constexpr QuantBytes table{kCodes, sizeof(Record), split, dot};
};

#endif

}  // namespace mlx::core::cpu::MLX_ISA
