// Arguments and results of the C interface as the engine's types, by their kind in table.txt.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "mlx/c/src/handles.h"
#include "mlx/core/error.h"
#include "mlx/fft.h"
#include "mlx/transforms/compile.h"

namespace mlx::c {

inline array make_array(mlx_array a) { return get(a).value; }
inline const array& in(mlx_array a) { return get(a).value; }
inline const Arrays& in(mlx_vector_array v) { return get(v); }
inline core::Stream in(mlx_stream s) { return get(s); }
inline const core::Function& in(mlx_closure f) { return get(f); }
inline const CustomVjp& in(mlx_closure_custom f) { return get(f); }
inline core::Dtype in(mlx_dtype t) {
  if (t < MLX_BOOL || t > MLX_COMPLEX64)
    core::fail<core::ValueError>("mlx_dtype", static_cast<int>(t), "; MLX_BOOL to MLX_COMPLEX64, ",
                                 static_cast<int>(MLX_COMPLEX64), ", are accepted");
  return static_cast<core::Dtype::Val>(t);
}
core::fft::FFTNorm in(mlx_fft_norm norm);
core::CompileMode in(mlx_compile_mode mode);
inline std::optional<int> in(mlx_optional_int v) {
  return v.has_value ? std::optional(v.value) : std::nullopt;
}
inline std::optional<float> in(mlx_optional_float v) {
  return v.has_value ? std::optional(v.value) : std::nullopt;
}
inline std::optional<core::Dtype> in(mlx_optional_dtype v) {
  return v.has_value ? std::optional(in(v.value)) : std::nullopt;
}
/// A string of the program; null is refused.
std::string in(const char* text);

/// Arguments that may be left out: null handles, null pointers.
inline std::optional<array> maybe(mlx_array a) {
  return a.ctx ? std::optional(get(a).value) : std::nullopt;
}
inline std::optional<core::distributed::Group> maybe(mlx_distributed_group g) {
  return g.ctx ? std::optional(get(g)) : std::nullopt;
}
template <class Closure>
std::optional<Object<Closure>> maybe(Closure f) {
  return f.ctx ? std::optional(get(f)) : std::nullopt;
}
inline std::string maybe(const char* text) { return text ? text : ""; }

/// `n` numbers of the program; null is accepted where there are none.
std::vector<int> ints_in(const int* numbers, size_t n);
core::Shape shape_in(const int* numbers, size_t n);
core::Strides strides_in(const int64_t* numbers, size_t n);
std::vector<uint64_t> words_in(const uint64_t* numbers, size_t n);
/// None for a null pointer.
std::optional<std::vector<int>> maybe_ints_in(const int* numbers, size_t n);

inline void out(mlx_array* to, array value) { assign(to, ArrayObject{std::move(value)}); }
inline void out(mlx_vector_array* to, Arrays value) { assign(to, std::move(value)); }
inline void out(mlx_closure* to, core::Function value) { assign(to, std::move(value)); }
inline void out(mlx_closure_value_and_grad* to, core::ValueAndGradFn value) {
  assign(to, std::move(value));
}
template <class T>
  requires std::is_arithmetic_v<T>
void out(T* to, T value) {
  if (!to) core::fail<core::ValueError>("mlx_c", "no place for a result");
  *to = value;
}
template <class A, class B, class First, class Second>
void out(A* to, B* to_second, std::pair<First, Second> values) {
  out(to, std::move(values.first));
  out(to_second, std::move(values.second));
}

/// A size as an int; throws SizeError, naming the function, where it is not one.
inline int as_int(int64_t n, const char* name) {
  if (n < std::numeric_limits<int>::min() || n > std::numeric_limits<int>::max())
    core::fail<core::SizeError>(name, "a length of ", n, "; up to ",
                                std::numeric_limits<int>::max(), " fits into an int");
  return static_cast<int>(n);
}

}  // namespace mlx::c
