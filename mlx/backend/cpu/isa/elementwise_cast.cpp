// Conversion kernels for every pair of dtypes. 16-bit floats go through float32, a tile at a time;
// float64 and wide integers reach them by rounding to odd first, so that they round once.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"
#include "mlx/backend/cpu/simd/bf16.h"
#include "mlx/backend/math/cast.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

#if defined(__AVX512DQ__)
/// Numbers truncated to int64 by an instruction, which gives the smallest int64 for numbers out of
/// range, as m::truncate does.
template <class To, class F>
MLX_FN To from_int64(F x) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    const bool upper = x >= F(0x1p63);
    const auto i = static_cast<uint64_t>(static_cast<int64_t>(upper ? x - F(0x1p63) : x));
    return i ^ (static_cast<uint64_t>(upper) << 63);
  } else {
    return static_cast<To>(static_cast<int64_t>(x));
  }
}

/// m::round_to_odd of eight numbers.
MLX_FN __m256i round_to_odd(__m512d x) {
  constexpr int kTowardZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  const __m256 f = _mm512_maskz_cvt_roundpd_ps(0xff, x, kTowardZero);
  const __mmask8 lost = _mm512_cmp_pd_mask(_mm512_maskz_cvtps_pd(0xff, f), x, _CMP_NEQ_OQ);
  const __m256i bits = _mm256_castps_si256(f);
  return _mm256_mask_or_epi32(bits, lost, bits, _mm256_set1_epi32(1));
}
#endif

MLX_FN float truncated(float x) { return __builtin_truncf(x); }
MLX_FN double truncated(double x) { return __builtin_trunc(x); }
MLX_FN float floored(float x) { return __builtin_floorf(x); }
MLX_FN double floored(double x) { return __builtin_floor(x); }

// m::convert to uint32, the low half of the number truncated to int64, without integers of 64 bits,
// whose conversions are no vector instructions before AVX-512.
template <class F>
MLX_FN uint32_t to_uint32(F x) {
  constexpr F kHalf = F(0x1p31), kAll = F(0x1p32), kEnd = F(0x1p63);
  const bool small = (x >= -kHalf) & (x < kHalf);
  const bool fits = (x >= -kEnd) & (x < kEnd);
  const F t = truncated(x);
  // Exact: multiples of the last bit of t, below 2^32.
  const F rest = fits ? t - floored(t / kAll) * kAll : F(0);
  const bool upper = rest >= kHalf;
  const F low = small ? t : upper ? rest - kHalf : rest;
  const auto bits = static_cast<uint32_t>(static_cast<int32_t>(low));
  return bits ^ (static_cast<uint32_t>(upper & !small) << 31);
}

template <class From, class To>
MLX_FN To converted(From x) {
  constexpr bool truncates =
      std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>;
#if defined(__AVX512DQ__)
  if constexpr (truncates && (sizeof(To) == 8 || std::is_same_v<To, uint32_t>))
    return from_int64<To>(x);
#endif
  if constexpr (truncates && std::is_same_v<To, uint32_t>) return to_uint32(x);
#if defined(__x86_64__)
  else if constexpr (truncates && sizeof(To) <= 4)
    // The instructions give the smallest int32 for numbers out of range, as m::truncate does.
    return static_cast<To>(static_cast<int32_t>(x));
#endif
  else
    return m::convert<To>(x);
}

template <class From, class To>
void plain_cast(const void* const* in, void* out, int64_t n) {
  const From* a = static_cast<const From*>(in[0]);
  To* o = static_cast<To*>(out);
  MLX_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) o[i] = converted<From, To>(a[i]);
}

template <class A>
MLX_FN void widen(const uint16_t* p, float* o, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + VF::N <= n; i += VF::N) A::load(p + i).store(o + i);
  if (i < n) store_some<Float32>(o + i, load_some<A>(p + i, n - i), n - i);
}
template <class A>
MLX_FN void narrow(const float* p, uint16_t* o, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512BF16__)
  if (std::is_same_v<A, Bfloat16> && converts_to_bf16()) {
    auto two = [&] {
      return store_converted(o + i, _mm512_loadu_ps(p + i), _mm512_loadu_ps(p + i + VF::N));
    };
    while (i + 2 * VF::N <= n && two()) i += 2 * VF::N;
  }
#endif
#pragma GCC unroll 4
  for (; i + VF::N <= n; i += VF::N) A::store(o + i, VF::load(p + i));
  if (i < n) store_some<A>(o + i, load_some<Float32>(p + i, n - i), n - i);
}

template <class A, class To>
void cast_from_narrow(const void* const* in, void* out, int64_t n) {
  const uint16_t* a = static_cast<const uint16_t*>(in[0]);
  if constexpr (std::is_same_v<To, float>) {
    widen<A>(a, static_cast<float*>(out), n);
  } else {
    float buffer[kTile];
    const void* from = buffer;
    for (int64_t i = 0; i < n; i += kTile) {
      int64_t count = n - i < kTile ? n - i : kTile;
      widen<A>(a + i, buffer, count);
      if constexpr (OnVectors<To>) {
        narrow<To>(buffer, static_cast<uint16_t*>(out) + i, count);
      } else {
        plain_cast<float, To>(&from, static_cast<To*>(out) + i, count);
      }
    }
  }
}
/// Numbers as floats, for a rounding to a 16-bit float.
template <class From>
MLX_FN void to_narrow_floats(const From* a, float* to, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512DQ__)
  if constexpr (sizeof(From) == 8 && !m::IsCx<From>::value) {
    for (; i + 8 <= n; i += 8) {
      double wide[8];
      for (int k = 0; k < 8; ++k) {
        if constexpr (std::is_integral_v<From>) {
          wide[k] = static_cast<double>(m::rounded_to_odd<53, 10>(a[i + k]));
        } else {
          wide[k] = a[i + k];
        }
      }
      _mm256_storeu_si256((__m256i*)(to + i), round_to_odd(_mm512_loadu_pd(wide)));
    }
  }
#endif
  MLX_INDEPENDENT
  for (; i < n; ++i) to[i] = m::to_narrow_float(a[i]);
}
template <class From, class A>
void cast_to_narrow(const void* const* in, void* out, int64_t n) {
  const From* a = static_cast<const From*>(in[0]);
  uint16_t* o = static_cast<uint16_t*>(out);
  if constexpr (std::is_same_v<From, float>) {
    narrow<A>(a, o, n);
  } else {
    float buffer[kTile];
    for (int64_t start = 0; start < n; start += kTile) {
      int64_t count = n - start < kTile ? n - start : kTile;
      to_narrow_floats(a + start, buffer, count);
      narrow<A>(buffer, o + start, count);
    }
  }
}

template <class T>
void copy(const void* const* in, void* out, int64_t n) {
  __builtin_memmove(out, in[0], n * sizeof(T));
}
template <class T>
void copy_nt(const void* const* in, void* out, int64_t n) {
  const char* a = static_cast<const char*>(in[0]);
  char* o = static_cast<char*>(out);
  int64_t bytes = n * static_cast<int64_t>(sizeof(T)), i = 0;
  if (is_aligned(out)) {
    for (; i + kVectorBytes <= bytes; i += kVectorBytes) {
      VF::load(reinterpret_cast<const float*>(a + i)).stream(reinterpret_cast<float*>(o + i));
    }
  }
  __builtin_memmove(o + i, a + i, bytes - i);
}

template <class From, class To>
constexpr TileFn cast_between() {
  if constexpr (std::is_same_v<From, To>) {
    if constexpr (OnVectors<From>) {
      return &copy<uint16_t>;
    } else {
      return &copy<From>;
    }
  } else if constexpr (OnVectors<From>) {
    return &cast_from_narrow<From, To>;
  } else if constexpr (std::is_same_v<From, bool>) {
    return cast_between<uint8_t, To>();  // a bool is a byte, 0 or 1
  } else if constexpr (OnVectors<To>) {
    return &cast_to_narrow<From, To>;
  } else {
    return &plain_cast<From, To>;
  }
}

// The element types in the order of Dtype::Val; 16-bit floats by how they are loaded and stored.
#define MLX_ELEMENT_TYPES(X) \
  X(bool)                    \
  X(uint8_t)                 \
  X(uint16_t)                \
  X(uint32_t)                \
  X(uint64_t)                \
  X(int8_t)                  \
  X(int16_t)                 \
  X(int32_t) X(int64_t) X(Float16) X(float) X(double) X(Bfloat16) X(m::Cx<float>) X(m::Cx<double>)

template <class From>
struct Casts {
  static constexpr TileFn to[kNumDtypes] = {
#define X(To) cast_between<From, To>(),
      MLX_ELEMENT_TYPES(X)
#undef X
  };
};
constexpr const TileFn* kCasts[kNumDtypes] = {
#define X(From) Casts<From>::to,
    MLX_ELEMENT_TYPES(X)
#undef X
};

}  // namespace

TileFn find_cast(Val from, Val to) { return kCasts[static_cast<int>(from)][static_cast<int>(to)]; }

TileFn find_copy(Val v, bool nt) {
  switch (detail::kItemSizes[static_cast<int>(v)]) {
    case 1:
      return nt ? &copy_nt<uint8_t> : &copy<uint8_t>;
    case 2:
      return nt ? &copy_nt<uint16_t> : &copy<uint16_t>;
    case 4:
      return nt ? &copy_nt<uint32_t> : &copy<uint32_t>;
    case 8:
      return nt ? &copy_nt<uint64_t> : &copy<uint64_t>;
    default:
      return nt ? &copy_nt<Item16> : &copy<Item16>;
  }
}

}  // namespace mlx::core::cpu::MLX_ISA
