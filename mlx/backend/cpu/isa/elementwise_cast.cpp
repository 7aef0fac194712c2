// Conversion kernels for every pair of dtypes. 16-bit floats go through float32, a tile at a time;
// float64 and wide integers reach them by rounding to odd first, so that they round once.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class T>
struct IsCx {
  static constexpr bool value = false;
};
template <class T>
struct IsCx<m::Cx<T>> {
  static constexpr bool value = true;
};

// Toward zero; what does not fit gives the smallest I, as the processor does.
template <class I, class F>
MLX_FN I truncate(F x) {
  constexpr F kEnd = sizeof(I) == 4 ? F(0x1p31) : F(0x1p63);
  constexpr I kLowest = static_cast<I>(sizeof(I) == 4 ? uint64_t(1) << 31 : uint64_t(1) << 63);
  bool fits = (x >= -kEnd) & (x < kEnd);
  I i = static_cast<I>(fits ? x : F(0));
  return fits ? i : kLowest;
}

template <class To, class From>
MLX_FN To convert(From x) {
  if constexpr (IsCx<From>::value) {
    if constexpr (std::is_same_v<To, bool>) {
      return (x.re != 0) | (x.im != 0);
    } else if constexpr (IsCx<To>::value) {
      return {static_cast<decltype(To::re)>(x.re), static_cast<decltype(To::re)>(x.im)};
    } else {
      return convert<To>(x.re);
    }
  } else if constexpr (IsCx<To>::value) {
    return {static_cast<decltype(To::re)>(x), 0};
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      bool upper = x >= From(0x1p63);
      auto i = static_cast<uint64_t>(truncate<int64_t>(upper ? x - From(0x1p63) : x));
      return upper ? i ^ (uint64_t(1) << 63) : i;
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
      return static_cast<To>(truncate<int64_t>(x));
    } else {
      return static_cast<To>(truncate<int32_t>(x));
    }
  } else {
    return static_cast<To>(x);
  }
}

// To float with the lost bits remembered in the last one: rounding the result to fewer bits is
// right.
MLX_FN float round_to_odd(double x) {
  float f = static_cast<float>(x);
  auto bits = __builtin_bit_cast(uint32_t, f);
  double back = f;
  bool exact = (back == x) | (x != x), away = __builtin_fabs(back) > __builtin_fabs(x);
  uint32_t odd = away ? bits - 1 : bits;  // toward zero, then the sticky bit
  return __builtin_bit_cast(float, exact ? bits : odd | 1);
}
template <class From>
MLX_FN float to_narrow_float(From x) {
  if constexpr (IsCx<From>::value) {
    return to_narrow_float(x.re);
  } else if constexpr (std::is_same_v<From, double>) {
    return round_to_odd(x);
  } else if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
    // Below 2^63 in steps of 2^10 once beyond 2^53, the lost bits kept in the lowest of the rest.
    bool large = m::abs(x) > (From(1) << 53);
    From kept = static_cast<From>((x & ~From(0x3ff)) | ((x & From(0x3ff)) != 0 ? 0x400 : 0));
    return round_to_odd(static_cast<double>(large ? kept : x));
  } else if constexpr (std::is_integral_v<From> && sizeof(From) == 4) {
    return round_to_odd(static_cast<double>(x));
  } else {
    return static_cast<float>(x);
  }
}

template <class From, class To>
void plain_cast(const void* const* in, void* out, int64_t n) {
  const From* a = static_cast<const From*>(in[0]);
  To* o = static_cast<To*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = convert<To>(a[i]);
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
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) buffer[i] = to_narrow_float(a[start + i]);
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

// The element types in the order of Dtype::Val; 16-bit floats by how they load and store.
#define MLX_ELEMENT_TYPES(X) \
  X(bool)                    \
  X(uint8_t)                 \
  X(uint16_t)                \
  X(uint32_t)                \
  X(uint64_t)                \
  X(int8_t)                  \
  X(int16_t)                 \
  X(int32_t) X(int64_t) X(Float16) X(Bfloat16) X(float) X(double) X(m::Cx<float>) X(m::Cx<double>)

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
