// Functions and definitions of the elementwise ops, expanded from the table. This code runs for
// every op that user code calls: for equal shapes and dtypes it only makes the node.
#include "mlx/ops/elementwise.h"

#include <cmath>
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/elementwise.rules.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/standard.h"

namespace mlx::core {

namespace {

enum class Domain { any, real, numeric, integral, inexact, floating, boolean };
enum class Result { same, boolean, part };

[[noreturn, gnu::noinline]] void refuse(const char* op, Dtype t, const char* accepted) {
  fail<ValueError>(op, "dtype ", dtype_name(t), "; ", accepted);
}

/// The dtype that operands of dtype `t` are converted to.
template <Domain domain>
Dtype operand_dtype(const char* op, Dtype t) {
  if constexpr (domain == Domain::boolean) return bool_;
  if constexpr (domain == Domain::inexact || domain == Domain::floating)
    if (!is_inexact(t)) t = float32;
  if constexpr (domain == Domain::real || domain == Domain::floating)
    if (is_complex(t)) refuse(op, t, "real dtypes are accepted");
  if constexpr (domain == Domain::numeric)
    if (t == bool_) refuse(op, t, "numbers are accepted; logical_not negates bool");
  if constexpr (domain == Domain::integral)
    if (is_inexact(t)) refuse(op, t, "bool and integer dtypes are accepted");
  return t;
}

template <Result result>
Dtype result_dtype(Dtype t) {
  if constexpr (result == Result::boolean) return bool_;
  if constexpr (result == Result::part) return real_dtype(t);
  return t;
}

const Shape& wider(const Shape& a, const Shape& b, Shape& made, const char* op) {
  if (b.empty() || a == b) return a;
  if (a.empty()) return b;
  return made = broadcast_shapes(a, b, op);
}

template <Domain domain, Result result>
array unary(const OpDef& op, const array& a, const StreamOrDevice& s) {
  Dtype t = operand_dtype<domain>(op.name, a.dtype());
  Stream st = to_stream(s);
  if (t == a.dtype()) return make_node(op, a.shape(), result_dtype<result>(t), st, {}, a);
  return make_node(op, a.shape(), result_dtype<result>(t), st, {}, cast_to(a, t, st));
}

template <Domain domain, Result result, bool shifts = false>
array binary(const OpDef& op, const array& a, const array& b, const StreamOrDevice& s) {
  Dtype t = a.dtype() == b.dtype() ? a.dtype() : promote_types(a.dtype(), b.dtype());
  t = operand_dtype<domain>(op.name, t);
  if constexpr (shifts)
    if (t == bool_) t = uint8;
  Shape made;
  const Shape& shape = wider(a.shape(), b.shape(), made, op.name);
  Stream st = to_stream(s);
  if (a.dtype() == t && b.dtype() == t)
    return make_node(op, shape, result_dtype<result>(t), st, {}, a, b);
  return make_node(op, shape, result_dtype<result>(t), st, {}, cast_to(a, t, st),
                   cast_to(b, t, st));
}

template <Domain, Result>
array ternary(const OpDef& op, const array& a, const array& b, const array& c,
              const StreamOrDevice& s) {
  Dtype t = b.dtype() == c.dtype() ? b.dtype() : promote_types(b.dtype(), c.dtype());
  Shape made_first, made;
  const Shape& shape =
      wider(wider(a.shape(), b.shape(), made_first, op.name), c.shape(), made, op.name);
  Stream st = to_stream(s);
  return make_node(op, shape, t, st, {}, cast_to(a, bool_, st), cast_to(b, t, st),
                   cast_to(c, t, st));
}

template <array (*f)(const array&, StreamOrDevice)>
Arrays build_1(const Arrays& in, const Attrs*, Stream s) {
  return {f(in[0], s)};
}
template <array (*f)(const array&, const array&, StreamOrDevice)>
Arrays build_2(const Arrays& in, const Attrs*, Stream s) {
  return {f(in[0], in[1], s)};
}
template <array (*f)(const array&, const array&, const array&, StreamOrDevice)>
Arrays build_3(const Arrays& in, const Attrs*, Stream s) {
  return {f(in[0], in[1], in[2], s)};
}

}  // namespace

#define E(row, arity, ...)                                                   \
  constinit const OpDef op_##row{.name = #row,                               \
                                 .kind = OpKind::elementwise,                \
                                 .elementwise = static_cast<int>(OpId::row), \
                                 .build = build_##arity<row>,                \
                                 .vjp = rules::elementwise_vjp<OpId::row>,   \
                                 .jvp = rules::elementwise_jvp<OpId::row>,   \
                                 .vmap = rules::elementwise_vmap<OpId::row>};
#include "mlx/ops/elementwise.def"
#undef E

#define MLX_FUNCTION_1(name, domain, result)                       \
  array name(const array& a, StreamOrDevice s) {                   \
    return unary<Domain::domain, Result::result>(op_##name, a, s); \
  }
#define MLX_FUNCTION_2(name, domain, result)                                                   \
  array name(const array& a, const array& b, StreamOrDevice s) {                               \
    constexpr bool shifts = OpId::name == OpId::left_shift || OpId::name == OpId::right_shift; \
    return binary<Domain::domain, Result::result, shifts>(op_##name, a, b, s);                 \
  }
#define MLX_FUNCTION_3(name, domain, result)                                             \
  array name(const array& condition, const array& x, const array& y, StreamOrDevice s) { \
    return ternary<Domain::domain, Result::result>(op_##name, condition, x, y, s);       \
  }
#define E(name, arity, domain, result, ...) MLX_FUNCTION_##arity(name, domain, result)
#include "mlx/ops/elementwise.def"
#undef E

namespace {

/// Integers rounded to multiples of a power of ten, without leaving their dtype.
array round_integers(const array& a, int tens, Stream s) {
  double largest = a.dtype().size() == 8 ? 1e18 : std::ldexp(1.0, 8 * a.dtype().size()) - 1;
  if (a.dtype() == bool_ || std::pow(10.0, tens) > largest) return subtract(a, a, s);
  array multiple = constant(std::pow(10.0, tens), a.dtype());
  if (is_complex(a.dtype()) || tens == 0) return a;
  array half = constant(std::pow(10.0, tens) / 2, a.dtype());
  array quotient = floor_divide(a, multiple, s);
  array rest = subtract(a, multiply(quotient, multiple, s), s);
  array odd = equal(remainder(quotient, weak(2, a), s), weak(1, a), s);
  array up = logical_or(greater(rest, half, s), logical_and(equal(rest, half, s), odd, s), s);
  return multiply(add(quotient, cast_to(up, a.dtype(), s), s), multiple, s);
}

}  // namespace

array round(const array& a, int decimals, StreamOrDevice stream) {
  if (decimals == 0) return rint(a, stream);
  Stream s = to_stream(stream);
  if (!is_inexact(a.dtype())) return decimals > 0 ? a : round_integers(a, -decimals, s);
  // Beyond the range of the dtype every value is its own nearest multiple, or zero is.
  Dtype part = real_dtype(a.dtype());
  int reach = part == float64 ? 308 : part == float16 ? 4 : 38;
  if (decimals < -reach) return multiply(a, weak(0, a), s);
  array power = constant(std::pow(10.0, std::min(std::abs(decimals), reach)), a.dtype());
  if (decimals < 0) return multiply(rint(divide(a, power, s), s), power, s);
  array scaled = multiply(a, power, s);
  return where(isfinite(scaled, s), divide(rint(scaled, s), power, s), a, s);
}
array round(const array& a, StreamOrDevice s) { return rint(a, s); }

array positive(const array& a, StreamOrDevice) { return a; }

array degrees(const array& a, StreamOrDevice s) { return multiply(a, weak(180.0 / M_PI, a), s); }
array radians(const array& a, StreamOrDevice s) { return multiply(a, weak(M_PI / 180.0, a), s); }

std::vector<array> divmod(const array& a, const array& b, StreamOrDevice s) {
  return {floor_divide(a, b, s), remainder(a, b, s)};
}

array nan_to_num(const array& a, float nan, const std::optional<float> posinf,
                 const std::optional<float> neginf, StreamOrDevice s) {
  return finite_numbers(a, nan, posinf, neginf, s);
}

array clip(const array& a, const std::optional<array>& a_min, const std::optional<array>& a_max,
           StreamOrDevice s) {
  if (!a_min && !a_max) fail<ValueError>("clip", "no limit; a_min, a_max or both are accepted");
  array out = a_min ? maximum(a, *a_min, s) : a;
  return a_max ? minimum(out, *a_max, s) : out;
}

array isclose(const array& a, const array& b, double rtol, double atol, bool equal_nan,
              StreamOrDevice stream) {
  Stream s = to_stream(stream);
  Dtype t = at_least_float(promote_types(a.dtype(), b.dtype()));
  array x = cast_to(a, t, s), y = cast_to(b, t, s);
  array size = abs(y, s), distance = abs(subtract(x, y, s), s);
  array limit = add(weak(atol, size), multiply(weak(rtol, size), size, s), s);
  array close =
      logical_or(equal(x, y, s), logical_and(isfinite(y, s), less_equal(distance, limit, s), s), s);
  return equal_nan ? logical_or(close, logical_and(isnan(x, s), isnan(y, s), s), s) : close;
}

array allclose(const array& a, const array& b, double rtol, double atol, bool equal_nan,
               StreamOrDevice s) {
  return all(isclose(a, b, rtol, atol, equal_nan, s), s);
}

array array_equal(const array& a, const array& b, bool equal_nan, StreamOrDevice stream) {
  if (a.shape() != b.shape()) return array(false);
  Stream s = to_stream(stream);
  array same = equal(a, b, s);
  if (equal_nan && is_inexact(promote_types(a.dtype(), b.dtype())))
    same = logical_or(same, logical_and(isnan(a, s), isnan(b, s), s), s);
  return all(same, s);
}
array array_equal(const array& a, const array& b, StreamOrDevice s) {
  return array_equal(a, b, false, s);
}

}  // namespace mlx::core
