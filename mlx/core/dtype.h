// Element types: identity, size, kind, and the promotion lattice.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "mlx/core/api.h"
#include "mlx/core/half.h"

namespace mlx::core {

using complex64_t = std::complex<float>;
using complex128_t = std::complex<double>;

/// The type of an array's elements.
struct Dtype {
  /// The numbers are part of the interface for C (mlx/c/array.h), which has no complex128.
  enum class Val : uint8_t {
    bool_,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    bfloat16,
    complex64,
    complex128,
  };
  /// One letter per family, as in NumPy; V stands for bfloat16, which NumPy lacks.
  enum class Kind : uint8_t { b, u, i, f, c, V };
  /// Abstract families for issubdtype.
  enum class Category : uint8_t {
    complexfloating,
    floating,
    inexact,
    signedinteger,
    unsignedinteger,
    integer,
    number,
    generic,
  };

  Val val_;
  uint8_t size_;  ///< bytes per element

  constexpr Dtype(Val v);
  constexpr Dtype(Val v, uint8_t size) : val_(v), size_(size) {}
  constexpr Val val() const { return val_; }
  constexpr uint8_t size() const { return size_; }
  constexpr operator Val() const { return val_; }
};

inline constexpr int kNumDtypes = 15;

namespace detail {
inline constexpr uint8_t kItemSizes[kNumDtypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
}  // namespace detail

constexpr Dtype::Dtype(Val v) : val_(v), size_(detail::kItemSizes[static_cast<int>(v)]) {}

inline constexpr Dtype bool_{Dtype::Val::bool_};
inline constexpr Dtype uint8{Dtype::Val::uint8};
inline constexpr Dtype uint16{Dtype::Val::uint16};
inline constexpr Dtype uint32{Dtype::Val::uint32};
inline constexpr Dtype uint64{Dtype::Val::uint64};
inline constexpr Dtype int8{Dtype::Val::int8};
inline constexpr Dtype int16{Dtype::Val::int16};
inline constexpr Dtype int32{Dtype::Val::int32};
inline constexpr Dtype int64{Dtype::Val::int64};
inline constexpr Dtype float16{Dtype::Val::float16};
inline constexpr Dtype float32{Dtype::Val::float32};
inline constexpr Dtype float64{Dtype::Val::float64};
inline constexpr Dtype bfloat16{Dtype::Val::bfloat16};
inline constexpr Dtype complex64{Dtype::Val::complex64};
inline constexpr Dtype complex128{Dtype::Val::complex128};

inline constexpr Dtype::Category complexfloating = Dtype::Category::complexfloating;
inline constexpr Dtype::Category floating = Dtype::Category::floating;
inline constexpr Dtype::Category inexact = Dtype::Category::inexact;
inline constexpr Dtype::Category signedinteger = Dtype::Category::signedinteger;
inline constexpr Dtype::Category unsignedinteger = Dtype::Category::unsignedinteger;
inline constexpr Dtype::Category integer = Dtype::Category::integer;
inline constexpr Dtype::Category number = Dtype::Category::number;
inline constexpr Dtype::Category generic = Dtype::Category::generic;

constexpr bool operator==(Dtype a, Dtype b) { return a.val_ == b.val_; }
constexpr bool operator!=(Dtype a, Dtype b) { return a.val_ != b.val_; }

/// True if `a` belongs to the category (or is the dtype) `b`.
MLX_API bool issubdtype(const Dtype& a, const Dtype& b);
MLX_API bool issubdtype(const Dtype::Category& a, const Dtype& b);
MLX_API bool issubdtype(const Dtype& a, const Dtype::Category& b);
MLX_API bool issubdtype(const Dtype::Category& a, const Dtype::Category& b);

/// The smallest dtype that both convert to; float16 with bfloat16 gives float32.
MLX_API Dtype promote_types(const Dtype& a, const Dtype& b);

/// Bytes per element.
inline uint8_t size_of(const Dtype& t) { return t.size(); }
MLX_API Dtype::Kind kindof(const Dtype& t);

constexpr bool is_complex(Dtype t) { return t.val() >= Dtype::Val::complex64; }
constexpr bool is_floating(Dtype t) {
  return t.val() >= Dtype::Val::float16 && t.val() <= Dtype::Val::bfloat16;
}
constexpr bool is_inexact(Dtype t) { return t.val() >= Dtype::Val::float16; }
constexpr bool is_unsigned(Dtype t) {
  return t.val() >= Dtype::Val::uint8 && t.val() <= Dtype::Val::uint64;
}
/// The dtype of the real and imaginary parts of a complex dtype; other dtypes are returned
/// unchanged.
constexpr Dtype real_dtype(Dtype t) {
  return t == complex64 ? float32 : t == complex128 ? float64 : t;
}

/// "float32", "bool", …
MLX_API std::string_view dtype_name(Dtype t);
/// The dtype with that name; throws std::invalid_argument for an unknown name.
Dtype dtype_from_name(std::string_view name);

/// True if each of the `n` bytes is a valid bool, 0 or 1.
MLX_API bool are_bools(const void* bytes, size_t n);
/// Converts bytes to valid bools: nonzero becomes 1.
MLX_API void make_bools(void* bytes, size_t n);

template <class T>
struct TypeToDtype;

#define MLX_FOR_EACH_DTYPE(X) \
  X(bool, bool_)              \
  X(uint8_t, uint8)           \
  X(uint16_t, uint16)         \
  X(uint32_t, uint32)         \
  X(uint64_t, uint64)         \
  X(int8_t, int8)             \
  X(int16_t, int16)           \
  X(int32_t, int32)           \
  X(int64_t, int64)           \
  X(float16_t, float16)       \
  X(bfloat16_t, bfloat16)     \
  X(float, float32)           \
  X(double, float64)          \
  X(complex64_t, complex64)   \
  X(complex128_t, complex128)

#define MLX_TYPE_TO_DTYPE(T, D)              \
  template <>                                \
  struct TypeToDtype<T> {                    \
    static constexpr Dtype value = D;        \
    constexpr operator Dtype() { return D; } \
  };
MLX_FOR_EACH_DTYPE(MLX_TYPE_TO_DTYPE)
#undef MLX_TYPE_TO_DTYPE

/// The dtype of an array made of elements of type T where none is given. A number without suffix is
/// a double in C++, and float32 here.
template <class T>
inline constexpr Dtype default_dtype =
    std::is_same_v<T, double> ? float32 : Dtype(TypeToDtype<T>());

// The other integer type of 64 bits: `int64_t` is `long` on Linux and `long long` on macOS.
namespace detail {
using OtherInt64 = std::conditional_t<std::is_same_v<int64_t, long long>, long, long long>;
using OtherUint64 = std::conditional_t<std::is_same_v<uint64_t, unsigned long long>, unsigned long,
                                       unsigned long long>;
static_assert(sizeof(OtherInt64) == sizeof(int64_t));
}  // namespace detail
template <>
struct TypeToDtype<detail::OtherInt64> : TypeToDtype<int64_t> {};
template <>
struct TypeToDtype<detail::OtherUint64> : TypeToDtype<uint64_t> {};

// The complex type of C, in programs that share headers with it: the same two floats.
namespace detail {
__extension__ typedef float _Complex CComplex64;
}
template <>
struct TypeToDtype<detail::CComplex64> : TypeToDtype<complex64_t> {};

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `f(TypeTag<T>{})` with the C++ type of `t`. Every dispatch on a dtype uses this function.
template <class F>
decltype(auto) dispatch(Dtype t, F&& f) {
  switch (t.val()) {
#define MLX_CASE(T, D) \
  case Dtype::Val::D:  \
    return f(TypeTag<T>{});
    MLX_FOR_EACH_DTYPE(MLX_CASE)
#undef MLX_CASE
  }
  __builtin_unreachable();
}

}  // namespace mlx::core
