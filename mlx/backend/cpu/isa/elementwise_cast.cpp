// Conversion kernels for every pair of dtypes. 16-bit floats go through float32, a tile at a time;
// float64 and wide integers reach them by rounding to odd first, so that they round once.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"
#include "mlx/backend/math/cast.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

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
  if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>) return to_uint32(x);
#if defined(__x86_64__)
  else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To> && sizeof(To) <= 4 &&
                     !std::is_same_v<To, bool>)
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
  for (int64_t i = 0; i < n; i += VF::N) {
    int64_t left = n - i < VF::N ? n - i : VF::N;
    store_some<Float32>(o + i, load_some<A>(p + i, left), left);
  }
}
template <class A>
MLX_FN void narrow(const float* p, uint16_t* o, int64_t n) {
  for (int64_t i = 0; i < n; i += VF::N) {
    int64_t left = n - i < VF::N ? n - i : VF::N;
    store_some<A>(o + i, load_some<Float32>(p + i, left), left);
  }
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
      MLX_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) buffer[i] = m::to_narrow_float(a[start + i]);
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
  } else if constexpr (OnVectors<To>) {
    return &cast_to_narrow<From, To>;
  } else if constexpr (std::is_same_v<From, bool>) {
    return &plain_cast<uint8_t, To>;  // a bool is a byte, 0 or 1
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
