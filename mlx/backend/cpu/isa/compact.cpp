// Compression and expansion by masks: selected elements move to the front of a register, with a
// compress instruction or a shuffle from a table, and the whole register is stored if there is
// space. The inverse uses an expand instruction or another shuffle.
#include "mlx/backend/cpu/isa/compact.h"

#include <stddef.h>

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

/// For each byte, the indices of its set bits in ascending order.
struct BitOrder {
  alignas(64) uint8_t of[256][8] = {};
  constexpr BitOrder() {
    for (int byte = 0; byte < 256; ++byte)
      for (int bit = 0, n = 0; bit < 8; ++bit)
        if (byte >> bit & 1) of[byte][n++] = static_cast<uint8_t>(bit);
  }
};
constexpr BitOrder kOrder;

/// For each byte and each of its bits, the number of set bits below it.
struct BitRank {
  alignas(64) uint8_t of[256][8] = {};
  constexpr BitRank() {
    for (int byte = 0; byte < 256; ++byte)
      for (int bit = 0, n = 0; bit < 8; n += byte >> bit++ & 1)
        of[byte][bit] = static_cast<uint8_t>(n);
  }
};
constexpr BitRank kRank;

/// Bit i: whether byte i of N is nonzero.
template <int N>
MLX_FN uint32_t truth_bits(const uint8_t* mask) {
#if defined(__SSE4_1__)
  __m128i bytes;
  if constexpr (N == 16)
    bytes = _mm_loadu_si128((const __m128i*)mask);
  else
    bytes = _mm_loadl_epi64((const __m128i*)mask);
  const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
  return static_cast<uint32_t>(~zeros) & ((1u << N) - 1);
#elif defined(__ARM_NEON)
  constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  static_assert(N == 8);
  const uint8x8_t bytes = vld1_u8(mask);
  return vaddv_u8(vand_u8(vtst_u8(bytes, bytes), vld1_u8(kBits)));
#else
  uint32_t bits = 0;
  for (int i = 0; i < N; ++i) bits |= static_cast<uint32_t>(mask[i] != 0) << i;
  return bits;
#endif
}

// Rows of small elements are moved as one item, which may then be unaligned.
template <class T>
MLX_FN T read_item(const T* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof(T));
  return x;
}
template <class T>
MLX_FN void write_item(T* p, T x) {
  __builtin_memcpy(p, &x, sizeof(T));
}

// Selected elements: `pack` writes the elements i + k for the set bits k, and may write up to
// kStep.

struct Indices {
  using Item = int32_t;
  int32_t first;
  MLX_FN Item at(int64_t i) const { return first + static_cast<int32_t>(i); }
#if defined(__AVX512F__)
  static constexpr int kStep = 16;
  MLX_FN void pack(int64_t i, uint32_t bits, Item* out) const {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i packed = _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), lanes);
    _mm512_storeu_si512(out, _mm512_add_epi32(packed, _mm512_set1_epi32(at(i))));
  }
#else
  static constexpr int kStep = 8;
  MLX_FN void pack(int64_t i, uint32_t bits, Item* out) const {
    const uint8_t* order = kOrder.of[bits];
#if defined(__AVX2__)
    const __m256i lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)order));
    _mm256_storeu_si256((__m256i*)out, _mm256_add_epi32(lanes, _mm256_set1_epi32(at(i))));
#elif defined(__SSE4_1__)
    const __m128i bytes = _mm_loadl_epi64((const __m128i*)order), base = _mm_set1_epi32(at(i));
    const __m128i low = _mm_cvtepu8_epi32(bytes);
    const __m128i high = _mm_cvtepu8_epi32(_mm_srli_si128(bytes, 4));
    _mm_storeu_si128((__m128i*)out, _mm_add_epi32(low, base));
    _mm_storeu_si128((__m128i*)(out + 4), _mm_add_epi32(high, base));
#elif defined(__ARM_NEON)
    const uint16x8_t words = vmovl_u8(vld1_u8(order));
    const int32x4_t base = vdupq_n_s32(at(i));
    vst1q_s32(out, vaddq_s32((int32x4_t)vmovl_u16(vget_low_u16(words)), base));
    vst1q_s32(out + 4, vaddq_s32((int32x4_t)vmovl_high_u16(words), base));
#else
    for (int k = 0; k < 8; ++k) out[k] = at(i) + order[k];
#endif
  }
#endif
};

#if defined(__ARM_NEON)
/// Eight elements T; elements of one byte are in half a register.
template <class T>
struct Eight {
  static constexpr int kParts = sizeof(T) == 1 ? 1 : sizeof(T) / 2;
  uint8x16_t part[kParts];

  MLX_FN static Eight load(const T* p) {
    Eight x{};
    __builtin_memcpy(x.part, p, 8 * sizeof(T));
    return x;
  }
  MLX_FN void store(T* p) const { __builtin_memcpy(p, part, 8 * sizeof(T)); }

  /// Bytes extended with their sign to elements.
  MLX_FN static Eight widened(uint8x8_t bytes) {
    Eight x;
    if constexpr (sizeof(T) == 1) {
      x.part[0] = vcombine_u8(bytes, bytes);
    } else {
      const int16x8_t words = vmovl_s8((int8x8_t)bytes);
      if constexpr (sizeof(T) == 2) {
        x.part[0] = (uint8x16_t)words;
      } else {
        const int32x4_t lanes[2] = {vmovl_s16(vget_low_s16(words)), vmovl_high_s16(words)};
        for (int i = 0; i < Eight::kParts; ++i) {
          if constexpr (sizeof(T) == 4)
            x.part[i] = (uint8x16_t)lanes[i];
          else
            x.part[i] = (uint8x16_t)(i % 2 ? vmovl_high_s32(lanes[i / 2])
                                           : vmovl_s32(vget_low_s32(lanes[i / 2])));
        }
      }
    }
    return x;
  }
  /// Element order[k] at k: the bytes of all elements are a table that their numbers choose from.
  MLX_FN Eight permuted(const uint8_t* order) const {
    constexpr uint8_t kFirst[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
    const uint8x16_t within = vandq_u8(vld1q_u8(kFirst), vdupq_n_u8(sizeof(T) - 1));
    const Eight numbers = widened(vld1_u8(order));
    Eight x;
    for (int i = 0; i < kParts; ++i) {
      // The element's number in its lowest byte is repeated in the others.
      const uint8x16_t from = vqtbl1q_u8(
          numbers.part[i],
          vbicq_u8(vcombine_u8(vcreate_u8(0x0706050403020100), vcreate_u8(0x0f0e0d0c0b0a0908)),
                   vdupq_n_u8(sizeof(T) - 1)));
      const uint8x16_t at = vmlaq_u8(within, from, vdupq_n_u8(sizeof(T)));
      if constexpr (kParts == 1)
        x.part[i] = vqtbl1q_u8(part[0], at);
      else if constexpr (kParts == 2)
        x.part[i] = vqtbl2q_u8({part[0], part[1]}, at);
      else
        x.part[i] = vqtbl4q_u8({part[0], part[1], part[2], part[3]}, at);
    }
    return x;
  }
};
template <class T>
  requires(sizeof(T) <= 8)
MLX_FN void pack_eight(const T* from, uint32_t bits, T* out) {
  Eight<T>::load(from).permuted(kOrder.of[bits]).store(out);
}
#endif

template <class T>
struct Elements {
  using Item = T;
  static constexpr int kStep = 8;
  const T* from;
  MLX_FN T at(int64_t i) const { return read_item(from + i); }
  MLX_FN void pack(int64_t i, uint32_t bits, T* out) const {
#if defined(__ARM_NEON)
    if constexpr (sizeof(T) <= 8) return pack_eight(from + i, bits, out);
#endif
    for (int k = 0; k < kStep; ++k) {
      write_item(out, at(i + k));
      out += bits >> k & 1;
    }
  }
};

#if defined(__SSE4_1__)
template <>
MLX_FN void Elements<uint8_t>::pack(int64_t i, uint32_t bits, uint8_t* out) const {
  const __m128i order = _mm_loadl_epi64((const __m128i*)kOrder.of[bits]);
  const __m128i x = _mm_loadl_epi64((const __m128i*)(from + i));
  _mm_storel_epi64((__m128i*)out, _mm_shuffle_epi8(x, order));
}
template <>
MLX_FN void Elements<uint16_t>::pack(int64_t i, uint32_t bits, uint16_t* out) const {
  const __m128i order = _mm_loadl_epi64((const __m128i*)kOrder.of[bits]);
  const __m128i twice = _mm_add_epi8(order, order);
  const __m128i bytes = _mm_unpacklo_epi8(twice, _mm_or_si128(twice, _mm_set1_epi8(1)));
  const __m128i x = _mm_loadu_si128((const __m128i*)(from + i));
  _mm_storeu_si128((__m128i*)out, _mm_shuffle_epi8(x, bytes));
}
#endif

#if defined(__AVX512F__)
template <>
MLX_FN void Elements<uint32_t>::pack(int64_t i, uint32_t bits, uint32_t* out) const {
  const __m256i x = _mm256_loadu_si256((const __m256i*)(from + i));
  _mm256_storeu_si256((__m256i*)out, _mm256_maskz_compress_epi32(static_cast<__mmask8>(bits), x));
}
template <>
MLX_FN void Elements<uint64_t>::pack(int64_t i, uint32_t bits, uint64_t* out) const {
  const __m512i x = _mm512_loadu_si512(from + i);
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), x));
}
#elif defined(__AVX2__)
template <>
MLX_FN void Elements<uint32_t>::pack(int64_t i, uint32_t bits, uint32_t* out) const {
  const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kOrder.of[bits]));
  const __m256i x = _mm256_loadu_si256((const __m256i*)(from + i));
  _mm256_storeu_si256((__m256i*)out, _mm256_permutevar8x32_epi32(x, order));
}
/// Four elements of 8 bytes; always writes four.
MLX_FN void pack_four(const uint64_t* from, uint32_t bits, uint64_t* out) {
  const __m128i order = _mm_loadl_epi64((const __m128i*)kOrder.of[bits]);
  const __m128i twice = _mm_add_epi8(order, order);
  const __m128i halves = _mm_unpacklo_epi8(twice, _mm_or_si128(twice, _mm_set1_epi8(1)));
  const __m256i x = _mm256_loadu_si256((const __m256i*)from);
  _mm256_storeu_si256((__m256i*)out, _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(halves)));
}
template <>
MLX_FN void Elements<uint64_t>::pack(int64_t i, uint32_t bits, uint64_t* out) const {
  pack_four(from + i, bits & 15, out);
  pack_four(from + i + 4, bits >> 4, out + __builtin_popcount(bits & 15));
}
#endif

template <class S>
int64_t compress(const S& source, const uint8_t* mask, int64_t n, typename S::Item* out,
                 int64_t capacity) {
  using Item = typename S::Item;
  constexpr int kStep = S::kStep;
  int64_t found = 0, i = 0;
  for (; i + kStep <= n; i += kStep) {
    const uint32_t bits = truth_bits<kStep>(mask + i);
    if (bits == 0) continue;
    const int count = __builtin_popcount(bits);
    if (capacity - found >= kStep) {
      source.pack(i, bits, out + found);
    } else {
      if (capacity - found < count) return capacity + 1;
      Item few[kStep];
      source.pack(i, bits, few);
      __builtin_memcpy(out + found, few, static_cast<size_t>(count) * sizeof(Item));
    }
    found += count;
  }
  for (; i < n; ++i) {
    if (!mask[i]) continue;
    if (found == capacity) return capacity + 1;
    write_item(out + found++, source.at(i));
  }
  return found;
}

int64_t compress_indices(const uint8_t* mask, int64_t n, int32_t first, int32_t* out,
                         int64_t capacity) {
  return compress(Indices{first}, mask, n, out, capacity);
}
template <class T>
int64_t compress_elements(const uint8_t* mask, int64_t n, const void* from, void* out,
                          int64_t capacity) {
  return compress(Elements<T>{static_cast<const T*>(from)}, mask, n, static_cast<T*>(out),
                  capacity);
}

// Branch-free, since the branches would be unpredictable.
template <class T>
MLX_FN T chosen(bool first, T x, T y) {
  return static_cast<T>(y ^ ((y ^ x) & static_cast<T>(-static_cast<T>(first))));
}
MLX_FN Item16 chosen(bool first, Item16 x, Item16 y) {
  return {chosen(first, x.low, y.low), chosen(first, x.high, y.high)};
}

/// Writes values[k] to the position in `to` of the k-th set bit; always reads 8 values.
template <class T>
MLX_FN void expand_eight(uint32_t bits, const T* values, T* to) {
#if defined(__AVX512F__)
  const auto lanes = static_cast<__mmask8>(bits);
  if constexpr (sizeof(T) == 4) {
    const __m256i x = _mm256_loadu_si256((const __m256i*)values);
    return _mm256_mask_storeu_epi32(to, lanes, _mm256_maskz_expand_epi32(lanes, x));
  } else if constexpr (sizeof(T) == 8) {
    const __m512i x = _mm512_loadu_si512(values);
    return _mm512_mask_storeu_epi64(to, lanes, _mm512_maskz_expand_epi64(lanes, x));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const __m256i rank = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kRank.of[bits]));
    const __m256i x = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i*)values), rank);
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i some = _mm256_set1_epi32(static_cast<int>(bits));
    const __m256i lanes = _mm256_cmpeq_epi32(_mm256_and_si256(some, bit), bit);
    return _mm256_maskstore_epi32((int*)to, lanes, x);
  }
#endif
#if defined(__SSE4_1__)
  if constexpr (sizeof(T) <= 2) {
    const __m128i bit = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i some = _mm_set1_epi8(static_cast<char>(bits));
    const __m128i lanes = _mm_cmpeq_epi8(_mm_and_si128(some, bit), bit);
    const __m128i rank = _mm_loadl_epi64((const __m128i*)kRank.of[bits]);
    if constexpr (sizeof(T) == 1) {
      const __m128i x = _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i*)values), rank);
      const __m128i old = _mm_loadl_epi64((const __m128i*)to);
      return _mm_storel_epi64((__m128i*)to, _mm_blendv_epi8(old, x, lanes));
    } else {
      const __m128i twice = _mm_add_epi8(rank, rank);
      const __m128i bytes = _mm_unpacklo_epi8(twice, _mm_or_si128(twice, _mm_set1_epi8(1)));
      const __m128i x = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)values), bytes);
      const __m128i old = _mm_loadu_si128((const __m128i*)to);
      const __m128i both = _mm_unpacklo_epi8(lanes, lanes);
      return _mm_storeu_si128((__m128i*)to, _mm_blendv_epi8(old, x, both));
    }
  }
#endif
#if defined(__ARM_NEON)
  if constexpr (sizeof(T) <= 8) {
    constexpr uint8_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x8_t lanes = vtst_u8(vdup_n_u8(static_cast<uint8_t>(bits)), vld1_u8(kBits));
    const auto where = Eight<T>::widened(lanes);
    const auto x = Eight<T>::load(values).permuted(kRank.of[bits]);
    auto all = Eight<T>::load(to);
    for (int i = 0; i < Eight<T>::kParts; ++i)
      all.part[i] = vbslq_u8(where.part[i], x.part[i], all.part[i]);
    return all.store(to);
  }
#endif
  for (int k = 0; k < 8; ++k) {
    const T x = read_item(values + kRank.of[bits][k]);
    write_item(to + k, chosen(bits >> k & 1, x, read_item(to + k)));
  }
}

template <class T>
int64_t expand(const uint8_t* mask, int64_t n, const void* from, void* to, int64_t capacity) {
  const T* const values = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  int64_t found = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const uint32_t bits = truth_bits<8>(mask + i);
    if (bits == 0) continue;
    const int count = __builtin_popcount(bits);
    if (capacity - found >= 8) {
      expand_eight(bits, values + found, out + i);
    } else {
      if (capacity - found < count) return capacity + 1;
      T few[8] = {};
      __builtin_memcpy(few, values + found, static_cast<size_t>(count) * sizeof(T));
      expand_eight(bits, few, out + i);
    }
    found += count;
  }
  for (; i < n; ++i) {
    if (!mask[i]) continue;
    if (found == capacity) return capacity + 1;
    write_item(out + i, read_item(values + found++));
  }
  return found;
}

int64_t count_true(const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  while (n > 0) {
    const int64_t some = n < 255 * 64 ? n : 255 * 64;
    int64_t i = 0;
    uint8_t sums[64] = {};
    for (; i + 64 <= some; i += 64)
      for (int k = 0; k < 64; ++k) sums[k] = static_cast<uint8_t>(sums[k] + (mask[i + k] != 0));
    for (int k = 0; k < 64; ++k) count += sums[k];
    for (; i < some; ++i) count += mask[i] != 0;
    mask += some;
    n -= some;
  }
  return count;
}

void split(uint32_t* offsets, int64_t n, uint32_t start, uint32_t length, uint32_t* places) {
  if (n == 0) return;
  if (start + offsets[n - 1] < length) {
    for (int64_t i = 0; i < n; ++i) {
      places[i] = start + offsets[i];
      offsets[i] = 0;
    }
    return;
  }
  // x / length for x < 2^31 equals x times 2^(31 + k) / length (rounded up), divided by 2^(31 + k),
  // where length <= 2^k: the error stays below 1 / length.
  int k = 0;
  while (uint64_t{1} << k < length) ++k;
  const int shift = 31 + k;
  const uint64_t reciprocal = ((uint64_t{1} << shift) + length - 1) / length;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t x = start + offsets[i];
    const auto passed = static_cast<uint32_t>(x * reciprocal >> shift);
    offsets[i] = passed;
    places[i] = x - passed * length;
  }
}

}  // namespace

constinit const CompactKernels compact_kernels{
    count_true,
    compress_indices,
    {compress_elements<uint8_t>, compress_elements<uint16_t>, compress_elements<uint32_t>,
     compress_elements<uint64_t>, compress_elements<Item16>},
    {expand<uint8_t>, expand<uint16_t>, expand<uint32_t>, expand<uint64_t>, expand<Item16>},
    split};

}  // namespace mlx::core::cpu::MLX_ISA
