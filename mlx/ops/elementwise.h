// Elementwise operations: one function and one op for each row of elementwise.def, and compositions
// of them. Operands broadcast and are promoted to a common dtype; the table lists the accepted
// dtypes. C++ scalars are weakly typed: they take the dtype of the array operand if its kind allows
// it.
#pragma once

#include <complex>
#include <concepts>
#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

// The last column of a row is its documentation.
#define MLX_FUNCTION_1(name) MLX_API array name(const array& a, StreamOrDevice s = {});
#define MLX_FUNCTION_2(name) \
  MLX_API array name(const array& a, const array& b, StreamOrDevice s = {});
#define MLX_FUNCTION_3(name) \
  MLX_API array name(const array& condition, const array& x, const array& y, StreamOrDevice s = {});
#define E(name, arity, ...)     \
  extern const OpDef op_##name; \
  MLX_FUNCTION_##arity(name)
#include "mlx/ops/elementwise.def"
#undef E
#undef MLX_FUNCTION_1
#undef MLX_FUNCTION_2
#undef MLX_FUNCTION_3

/// Rounds to a number of decimals (negative: to tens, hundreds, ..), ties to even.
MLX_API array round(const array& a, int decimals, StreamOrDevice s = {});
MLX_API array round(const array& a, StreamOrDevice s = {});
/// `a` itself.
MLX_API array positive(const array& a, StreamOrDevice s = {});
/// Radians to degrees, and back.
MLX_API array degrees(const array& a, StreamOrDevice s = {});
MLX_API array radians(const array& a, StreamOrDevice s = {});
/// Quotient rounded toward negative infinity, and remainder.
MLX_API std::vector<array> divmod(const array& a, const array& b, StreamOrDevice s = {});
/// NaN and infinities replaced; by default infinities become the largest finite numbers.
MLX_API array nan_to_num(const array& a, float nan = 0,
                         const std::optional<float> posinf = std::nullopt,
                         const std::optional<float> neginf = std::nullopt, StreamOrDevice s = {});
/// `a` limited from below and above; the upper limit takes precedence if they cross.
MLX_API array clip(const array& a, const std::optional<array>& a_min,
                   const std::optional<array>& a_max, StreamOrDevice s = {});
/// True where |a - b| <= atol + rtol * |b|, or where both are the same infinity.
MLX_API array isclose(const array& a, const array& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false, StreamOrDevice s = {});
/// True if isclose is true everywhere.
MLX_API array allclose(const array& a, const array& b, double rtol = 1e-5, double atol = 1e-8,
                       bool equal_nan = false, StreamOrDevice s = {});
/// True if the shapes are equal and all elements are equal.
MLX_API array array_equal(const array& a, const array& b, bool equal_nan, StreamOrDevice s = {});
MLX_API array array_equal(const array& a, const array& b, StreamOrDevice s = {});

/// The dtype of a scalar operand beside an array: the array's dtype unless the scalar's kind is
/// higher.
template <class T>
Dtype weak_dtype(Dtype beside) {
  if constexpr (std::is_same_v<T, bool>) return beside;
  if constexpr (std::is_integral_v<T>) return beside == bool_ ? int32 : beside;
  if constexpr (std::is_floating_point_v<T>) return is_inexact(beside) ? beside : float32;
  return beside == complex128 ? complex128 : complex64;
}
template <class T>
concept WeakScalar = std::is_arithmetic_v<T> || std::is_same_v<T, complex64_t>;
/// Converts a scalar to an operand for `a`.
template <WeakScalar T>
array weak(T v, const array& a) {
  return array(v, weak_dtype<T>(a.dtype()));
}

/// How operators take a number beside an array: in programs as `array(number)`, so that float16 and
/// 2.0f give float32; in the engine, which defines MLX_ENGINE, by `weak`, so that its rules keep
/// the dtype that they are given.
enum class ScalarOperand { strict, weak };
#ifdef MLX_ENGINE
constexpr auto kScalarOperand = ScalarOperand::weak;
#else
constexpr auto kScalarOperand = ScalarOperand::strict;
#endif
template <ScalarOperand as, WeakScalar T>
array scalar_operand(T v, const array& beside) {
  if constexpr (as == ScalarOperand::weak)
    return weak(v, beside);
  else
    return array(v);
}

#define MLX_OPERATOR(symbol, function)                                                    \
  inline array operator symbol(const array& a, const array& b) { return function(a, b); } \
  template <WeakScalar T, ScalarOperand as = kScalarOperand>                              \
  array operator symbol(T a, const array& b) {                                            \
    return function(scalar_operand<as>(a, b), b);                                         \
  }                                                                                       \
  template <WeakScalar T, ScalarOperand as = kScalarOperand>                              \
  array operator symbol(const array& a, T b) {                                            \
    return function(a, scalar_operand<as>(b, a));                                         \
  }
MLX_OPERATOR(+, add)
MLX_OPERATOR(-, subtract)
MLX_OPERATOR(*, multiply)
MLX_OPERATOR(/, divide)
MLX_OPERATOR(%, remainder)
MLX_OPERATOR(==, equal)
MLX_OPERATOR(!=, not_equal)
MLX_OPERATOR(<, less)
MLX_OPERATOR(<=, less_equal)
MLX_OPERATOR(>, greater)
MLX_OPERATOR(>=, greater_equal)
MLX_OPERATOR(&, bitwise_and)
MLX_OPERATOR(|, bitwise_or)
MLX_OPERATOR(^, bitwise_xor)
MLX_OPERATOR(<<, left_shift)
MLX_OPERATOR(>>, right_shift)
#undef MLX_OPERATOR
inline array operator-(const array& a) { return negative(a); }
inline array operator~(const array& a) { return bitwise_invert(a); }
// Defined for two arrays only: `handle && condition` must test whether the handle is null.
template <std::same_as<array> A>
array operator&&(const A& a, const A& b) {
  return logical_and(a, b);
}
template <std::same_as<array> A>
array operator||(const A& a, const A& b) {
  return logical_or(a, b);
}

}  // namespace mlx::core
