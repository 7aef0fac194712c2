// Compression and expansion by masks: selected elements move to the front of a register, with a
// compress instruction or a shuffle from a table, and the whole register is stored if there is
// space. The inverse uses an expand instruction or another shuffle.
#include "mlx/backend/cpu/isa/compact.h"

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

// What is selected: `pack` writes the elements i + k for the set bits k, and may write up to kStep.

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
#else
    for (int k = 0; k < 8; ++k) out[k] = at(i) + order[k];
#endif
  }
#endif
};

template <class T>
struct Elements {
  using Item = T;
  static constexpr int kStep = 8;
  const T* from;
  MLX_FN T at(int64_t i) const { return read_item(from + i); }
  MLX_FN void pack(int64_t i, uint32_t bits, T* out) const {
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
