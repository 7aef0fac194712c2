// Codes of 1, 2, 4 and 8 bits: a lane holds a word and extracts one code after the other by shifts,
// so the floats that are multiplied with them are rearranged once. Codes that cross words are read
// eight at a time.
#include "mlx/backend/cpu/isa/quantized.h"

#include <stddef.h>

#include "mlx/backend/cpu/isa/gemm_simd.h"
#include "mlx/backend/cpu/isa/quantized_bytes.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// Values of the codes in the lowest bits of each lane.
template <int kBits>
struct Integers : OwnBytes {
  static constexpr int bits = kBits;
  MLX_INLINE F32 values(U32 x) {
    return __builtin_convertvector((I32)(x & ((1u << kBits) - 1)), F32);
  }
};

// By table, with a lane permutation if available.
struct E2m1 {
  static constexpr int bits = 4;
#if defined(__AVX512VNNI__)
  // Bytes are twice each value, with 12 added.
  static constexpr int kZero = 12;
  static constexpr float kUnit = 0.5f;
  MLX_INLINE __m512i bytes(__m512i codes) {
    const __m128i table = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
    return _mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(0xffff, table), codes);
  }
#endif
  MLX_INLINE F32 values(U32 x) {
#if defined(__AVX512F__)
    static constexpr float kAll[16] = {0, .5f,  1,  1.5f,  2,  3,  4,  6,
                                       0, -.5f, -1, -1.5f, -2, -3, -4, -6};
    return _mm512_maskz_permutexvar_ps(0xffff, (__m512i)x, _mm512_loadu_ps(kAll));
#else
    // Exponent and mantissa are shifted into place; the product with 2^126 rebiases, also for
    // subnormals.
    const U32 magnitude = (x & 7) << 22, sign = (x & 8) << 28;
    return (F32)((U32)((F32)magnitude * 0x1p126f) | sign);
#endif
  }
};

struct E4m3 {
  static constexpr int bits = 8;
  MLX_INLINE F32 values(U32 x) {
    const U32 magnitude = (x & 0x7f) << 20, sign = (x & 0x80) << 24;
    const U32 nan = (U32)((x & 0x7f) == 0x7f) & 0x7fc00000u;
    return (F32)((U32)((F32)magnitude * 0x1p120f) | sign | nan);
  }
};

#if defined(__AVX512F__)
template <>
struct Integers<4> : OwnBytes {
  static constexpr int bits = 4;
  MLX_INLINE F32 values(U32 x) {  // a permutation reads the lowest four bits only
    const F32 table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return _mm512_maskz_permutexvar_ps(0xffff, (__m512i)x, table);
  }
};
template <>
struct Integers<2> : OwnBytes {
  static constexpr int bits = 2;
  MLX_INLINE F32 values(U32 x) {
    const F32 table = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    return _mm512_maskz_permutexvar_ps(0xffff, (__m512i)x, table);
  }
};
#endif

// Reads the scales of kLanes words by lane. Groups have 2^n words.
class LaneScales {
 public:
  explicit LaneScales(int64_t group_words)
      : shift_(__builtin_ctzll(static_cast<uint64_t>(group_words))) {
#if defined(__AVX512F__)
    const U32 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    place_ = lanes >> (shift_ < 4 ? static_cast<uint32_t>(shift_) : 4u);
#endif
  }

  /// The scales of the words that start at `at`. kLanes floats from the first of them are readable.
  F32 operator()(const float* scales, int64_t at) const {
    const float* p = scales + (at >> shift_);
#if defined(__AVX512F__)
    return _mm512_maskz_permutexvar_ps(0xffff, (__m512i)place_, _mm512_loadu_ps(p));
#else
    if (1 << shift_ >= kLanes) return broadcast(*p);
#if defined(__ARM_NEON)
    // One or two words a group: every lane has its own scale, or two share it.
    if (shift_ == 0) return load<F32>(p);
    const float32x2_t few = vld1_f32(p);
    return (F32)vcombine_f32(vdup_lane_f32(few, 0), vdup_lane_f32(few, 1));
#else
    F32 out;
    for (int l = 0; l < kLanes; ++l) out[l] = p[l >> shift_];
    return out;
#endif
#endif
  }

 private:
  int shift_;
#if defined(__AVX512F__)
  U32 place_;
#endif
};

// Unpacks to floats and rounds them.
template <class C>
void narrow_unpacked(const uint32_t* words, const float* scales, const float* biases, int64_t n,
                     int64_t group, uint16_t* out, int64_t stride) {
  constexpr int64_t kCodes = 512;  // a multiple of each group size
  alignas(64) float few[kCodes];
  for (int64_t at = 0; at < n; at += kCodes) {
    const int64_t some = smaller(kCodes, n - at);
    const int64_t skip = at / group;
    C::unpack(words + at * C::bits / 32, scales + skip, biases ? biases + skip : nullptr, some,
              group, few);
    for (int64_t i = 0; i < some; i += kLanes) {
      store(out + (at + i) / 32 * stride + (at + i) % 32, to_bf16(load<F32>(few + i)));
    }
  }
}

#if defined(__AVX512F__)
// Codes of 4 bits: the 16 values of a group, each rounded once, are a table that a permutation
// reads.
template <class C>
void permute_unpacked(const uint32_t* words, const float* scales, const float* biases, int64_t n,
                      int64_t group, uint16_t* out, int64_t stride) {
  const U32 code = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto* bytes = reinterpret_cast<const unsigned char*>(words);
  __m512i table{};
  for (int64_t i = 0; i < n; i += 16) {
    if (i % group == 0) {
      const F32 v = C::values(code) * broadcast(scales[i / group]);
      const U16 values = to_bf16(biases ? v + broadcast(biases[i / group]) : v);
      table = _mm512_maskz_broadcast_i64x4(0xff, (__m256i)values);
    }
    // A byte in each lane of 32 bits, whose halves then have one code each in their lowest bits.
    // The permutation reads five bits, and the table is there twice.
    const auto expand = [&](__m512i d) {
      return _mm512_maskz_permutexvar_epi16(~0u, _mm512_or_si512(d, _mm512_slli_epi32(d, 12)),
                                            table);
    };
    auto* to = out + i / 32 * stride + i % 32;
    if (group >= 32) {
      const auto packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i / 2));
      __builtin_prefetch(bytes + i / 2 + 512);
      _mm512_storeu_si512(to, expand(_mm512_maskz_cvtepu8_epi32(0xffff, packed)));
      i += 16;
    } else {
      const auto packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + i / 2));
      const auto half = expand(_mm512_maskz_cvtepu8_epi32(0xff, packed));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(half));
    }
  }
}
#endif

template <class C>
constexpr const QuantBytes* byte_products() {
#if defined(__AVX512VNNI__)
  if constexpr (C::bits > 1 && !__is_same(C, E4m3)) return &ByteProducts<C, LaneScales>::table;
#endif
  return nullptr;
}

template <class C>
struct Words {
  static constexpr int bits = C::bits;
  static constexpr int kPer = 32 / C::bits;
  static constexpr int64_t kBlock = kPer * kLanes;  // codes per vector of words

  static void arrange(const float* x, int64_t n, float* to) {
    for (int64_t at = 0; at < n; at += kBlock)
      for (int j = 0; j < kPer; ++j)
        for (int l = 0; l < kLanes; ++l) {
          const int64_t i = at + l * kPer + j;
          *to++ = i < n ? x[i] : 0;
        }
  }

  MLX_INLINE U32 words_at(const uint32_t* words, int64_t at, int64_t count) {
    return count - at >= kLanes ? load<U32>(words + at) : load_n<U32>(words + at, count - at);
  }

  template <int M>
  static void rows(const uint32_t* words, const float* scales, int64_t count, int64_t group_words,
                   const float* x, int64_t x_row, float* acc, int64_t ld) {
    const LaneScales lane_scales(group_words);
    F32 sum[M] = {};
    for (int64_t at = 0; at < count; at += kLanes) {
      const U32 w = words_at(words, at, count);
      __builtin_prefetch(words + at + 256);
      const F32 scale = lane_scales(scales, at);
      const float* p = x + at * kPer;
      F32 part[M][2] = {};
#pragma GCC unroll 32
      for (int j = 0; j < kPer; ++j) {
        const F32 v = C::values(w >> (j * C::bits));
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i)
          part[i][j & 1] = multiply_add(v, load<F32>(p + i * x_row + j * kLanes), part[i][j & 1]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i] = multiply_add(part[i][0] + part[i][1], scale, sum[i]);
    }
    for (int i = 0; i < M; ++i) acc[i * ld] = sum_lanes(sum[i]);
  }

  static void dot(const uint32_t* words, const float* scales, int64_t k, int64_t group,
                  const float* x, int64_t x_row, int64_t m, float* acc, int64_t ld) {
    const int64_t count = k / kPer, per_group = group / kPer;
    with_rows(m, [&](auto rows_of_x) {
      rows<rows_of_x.value>(words, scales, count, per_group, x, x_row, acc, ld);
    });
  }

  /// Vector J of the codes of kLanes words: the words and their shift.
  template <int J>
  MLX_INLINE U32 codes(U32 words) {
    U32 shift;
    for (int l = 0; l < kLanes; ++l) shift[l] = (J * kLanes + l) % kPer * C::bits;
    return shuffle_lanes<kLanes>(words, words, [](int l) { return (J * kLanes + l) / kPer; }) >>
           shift;
  }

  template <int J>
  MLX_INLINE void expand(U32 words, const float* scales, const float* biases, int64_t at, int64_t n,
                         int64_t group, float* out) {
    const int64_t i = at + J * kLanes;
    if (i >= n) return;
    const F32 v = C::values(codes<J>(words)) * broadcast(scales[i / group]);
    store(out + i, biases ? v + broadcast(biases[i / group]) : v);
    if constexpr (J + 1 < kPer) expand<J + 1>(words, scales, biases, at, n, group, out);
  }

  static void unpack(const uint32_t* words, const float* scales, const float* biases, int64_t n,
                     int64_t group, float* out) {
    for (int64_t at = 0; at < n; at += kBlock)
      expand<0>(words_at(words, at / kPer, n / kPer), scales, biases, at, n, group, out);
  }

  static void unpack_halves(const uint32_t* words, const float* scales, const float* biases,
                            int64_t n, int64_t group, uint16_t* out, int64_t stride) {
#if defined(__AVX512F__)
    if constexpr (bits == 4) {
      return permute_unpacked<C>(words, scales, biases, n, group, out, stride);
    }
#endif
    narrow_unpacked<Words>(words, scales, biases, n, group, out, stride);
  }

  static constexpr QuantKernels table{unpack, unpack_halves, arrange, dot, byte_products<C>()};
};

// Codes of 3, 5 and 6 bits: eight codes occupy as many bytes as a code has bits.
template <int kBits>
struct Bytes {
  static constexpr int bits = kBits;
  typedef uint32_t U8 __attribute__((vector_size(32)));
  typedef int32_t I8 __attribute__((vector_size(32)));
  typedef float F8 __attribute__((vector_size(32)));

  /// Codes 8 J to 8 J + 7 of the 32 codes at p; reads only their 4 * kBits bytes.
  template <int J>
  MLX_INLINE void eight(const unsigned char* p, float* out) {
    constexpr bool ahead = J * kBits + 8 <= 4 * kBits;
    uint64_t x;
    __builtin_memcpy(&x, p + (ahead ? J * kBits : (J + 1) * kBits - 8), 8);
    if (!ahead) x >>= 8 * (8 - kBits);
    const auto low = static_cast<uint32_t>(x), high = static_cast<uint32_t>(x >> (4 * kBits));
    const U8 both = {low, low, low, low, high, high, high, high};
    const U8 shift = {0, kBits, 2 * kBits, 3 * kBits, 0, kBits, 2 * kBits, 3 * kBits};
    const F8 v = __builtin_convertvector((I8)((both >> shift) & ((1u << kBits) - 1)), F8);
    __builtin_memcpy(out + 8 * J, &v, sizeof(v));
  }
  /// 32 codes; groups are multiples of that.
  MLX_INLINE void codes(const unsigned char* p, float* out) {
    eight<0>(p, out);
    eight<1>(p, out);
    eight<2>(p, out);
    eight<3>(p, out);
  }

  static void unpack(const uint32_t* words, const float* scales, const float* biases, int64_t n,
                     int64_t group, float* out) {
    const auto* p = reinterpret_cast<const unsigned char*>(words);
    for (int64_t i = 0; i < n; i += 32, p += 4 * kBits) {
      const float scale = scales[i / group], bias = biases ? biases[i / group] : 0;
      codes(p, out + i);
      for (int j = 0; j < 32; ++j) out[i + j] = out[i + j] * scale + bias;
    }
  }

  static void arrange(const float* x, int64_t n, float* to) {
    __builtin_memcpy(to, x, static_cast<size_t>(n) * sizeof(float));
  }

  static void dot(const uint32_t* words, const float* scales, int64_t k, int64_t group,
                  const float* x, int64_t x_row, int64_t m, float* acc, int64_t ld) {
    const auto* p = reinterpret_cast<const unsigned char*>(words);
    F32 sum[kQuantRows] = {};
    for (int64_t at = 0; at < k; at += 32, p += 4 * kBits) {
      alignas(64) float few[32];
      codes(p, few);
      const F32 scale = broadcast(scales[at / group]);
      for (int j = 0; j < 32; j += kLanes) {
        const F32 v = load<F32>(few + j) * scale;
        for (int64_t i = 0; i < m; ++i)
          sum[i] = multiply_add(v, load<F32>(x + i * x_row + at + j), sum[i]);
      }
    }
    for (int64_t i = 0; i < m; ++i) acc[i * ld] = sum_lanes(sum[i]);
  }

  static constexpr QuantKernels table{unpack, narrow_unpacked<Bytes>, arrange, dot, nullptr};
};

}  // namespace

const QuantKernels& find_quant(QuantFormat f) {
  switch (f) {
    case QuantFormat::int1:
      return Words<Integers<1>>::table;
    case QuantFormat::int2:
      return Words<Integers<2>>::table;
    case QuantFormat::int3:
      return Bytes<3>::table;
    case QuantFormat::int4:
      return Words<Integers<4>>::table;
    case QuantFormat::int5:
      return Bytes<5>::table;
    case QuantFormat::int6:
      return Bytes<6>::table;
    case QuantFormat::int8:
      return Words<Integers<8>>::table;
    case QuantFormat::e2m1:
      return Words<E2m1>::table;
    case QuantFormat::e4m3:
      break;
  }
  return Words<E4m3>::table;
}

}  // namespace mlx::core::cpu::MLX_ISA
