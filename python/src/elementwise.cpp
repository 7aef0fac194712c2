// Elementwise functions: one per row of mlx/ops/elementwise.def, whose signature column determines
// parameters and accepted operands; then the few composed ones.
#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/standard.h"
#include "module.h"
#include "operators.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
constexpr const char* kStream = "stream: StreamOrDevice = None) -> array";

[[noreturn]] void refuse_operands(const char* op, PyObject* x, PyObject* y) {
  PyErr_Format(argument_error, "[%s] operands of types %s and %s; scalars and arrays are accepted",
               op, class_name(x), class_name(y));
  throw nb::python_error();
}
nb::object binary(const char* op, BinaryFunction fn, Operand x, Operand y,
                  const StreamOrDevice& s) {
  nb::object r = nb::steal(apply_binary(fn, x.object, y.object, s));
  if (!r.is_valid()) refuse_operands(op, x.object, y.object);
  return r;
}

/// Binds one row; the tag is its signature column.
struct U {};
struct UK {};
struct US {};
struct UX {};
struct B {};
struct BP {};
struct BA {};
struct T {};

template <class F>
void define(nb::module_& m, const char* name, const char* parameters, F f, const char* doc = "") {
  def(m, (std::string(name) + parameters + kStream).c_str(), f, doc);
}
template <class F>
void define(nb::module_& m, U, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: array, /, *, ", f, doc);
}
template <class F>
void define(nb::module_& m, UK, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: array, *, ", f, doc);
}
template <class F>
void define(nb::module_& m, US, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: array, ", f, doc);
}
template <class F>
void define(nb::module_& m, UX, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: scalar | array, ", f, doc);
}
template <class F>
void define(nb::module_& m, B, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: scalar | array, b: scalar | array, ", f, doc);
}
template <class F>
void define(nb::module_& m, BP, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: scalar | array, b: scalar | array, /, *, ", f, doc);
}
template <class F>
void define(nb::module_& m, BA, const char* name, F f, const char* doc = "") {
  define(m, name, "(a: array, b: array, /, *, ", f, doc);
}
template <class F>
void define(nb::module_& m, T, const char* name, F f, const char* doc = "") {
  define(m, name, "(condition: scalar | array, x: scalar | array, y: scalar | array, /, *, ", f,
         doc);
}

// The C++ callable of a row, by its number of operands.
#define MLX_CALL_1(NAME) [](const array& a, const StreamOrDevice& s) { return core::NAME(a, s); }
#define MLX_CALL_2(NAME) \
  [](Operand a, Operand b, const StreamOrDevice& s) { return binary(#NAME, core::NAME, a, b, s); }
#define MLX_CALL_3(NAME)                                              \
  [](const array& c, Operand x, Operand y, const StreamOrDevice& s) { \
    const array *a, *b;                                               \
    array storage_a, storage_b;                                       \
    if (!to_operands(x.object, y.object, a, b, storage_a, storage_b)) \
      refuse_operands(#NAME, x.object, y.object);                     \
    return core::NAME(c, *a, *b, s);                                  \
  }

void bind_table(nb::module_& m) {
#define E(NAME, ARITY, DOMAIN, RESULT, SIGNATURE, PARTIALS, KIND, REFERENCE, LOW, HIGH, DOC) \
  define(m, SIGNATURE{}, #NAME, MLX_CALL_##ARITY(NAME), DOC);
#include "mlx/ops/elementwise.def"
#undef E
  constexpr std::pair<const char*, const char*> aliases[] = {
      {"acos", "arccos"},    {"acosh", "arccosh"},
      {"asin", "arcsin"},    {"asinh", "arcsinh"},
      {"atan", "arctan"},    {"atan2", "arctan2"},
      {"atanh", "arctanh"},  {"bitwise_left_shift", "left_shift"},
      {"conj", "conjugate"}, {"bitwise_right_shift", "right_shift"},
      {"pow", "power"}};
  for (auto [name, of] : aliases) alias(m, name, of);
}

void bind_methods(nb::handle c) {
#define MLX_METHOD(NAME, FN)                                        \
  def(c, #NAME "(self, *, stream: StreamOrDevice = None) -> array", \
      [](const array& a, const StreamOrDevice& s) { return core::FN(a, s); });
  MLX_METHOD(abs, abs)
  MLX_METHOD(conj, conjugate)
  MLX_METHOD(cos, cos)
  MLX_METHOD(exp, exp)
  MLX_METHOD(log, log)
  MLX_METHOD(log10, log10)
  MLX_METHOD(log1p, log1p)
  MLX_METHOD(log2, log2)
  MLX_METHOD(reciprocal, reciprocal)
  MLX_METHOD(rsqrt, rsqrt)
  MLX_METHOD(sin, sin)
  MLX_METHOD(sqrt, sqrt)
  MLX_METHOD(square, square)
#undef MLX_METHOD
  def(
      c, "round(self, decimals: int = 0, *, stream: StreamOrDevice = None) -> array",
      [](const array& a, int decimals, const StreamOrDevice& s) {
        return core::round(a, decimals, s);
      },
      "Rounds to `decimals` decimals, ties to even.");
}

/// A bound of clip as an operand beside the clipped array.
std::optional<array> bound(const array& a, nb::handle o, const char* name) {
  if (o.is_none()) return {};
  array v;
  if (!weak_array(o.ptr(), a.dtype(), v))
    fail<TypeError>("clip", name, " of type ", class_name(o), "; scalars and arrays are accepted");
  return v;
}

void bind_clip(nb::handle c) {
  def(c,
      "clip(self, min: scalar | array | None = None, max: scalar | array | None = None, *, "
      "stream: StreamOrDevice = None) -> array",
      [](const array& a, nb::handle low, nb::handle high, const StreamOrDevice& s) {
        if (low.is_none() && high.is_none()) return a;
        return core::clip(a, bound(a, low, "min"), bound(a, high, "max"), s);
      });
}

void bind_composed(nb::module_& m) {
  define(m, U{}, "positive", [](const array& a, const StreamOrDevice&) { return a; });
  define(m, "degrees", "(a: scalar | array, /, *, ", MLX_CALL_1(degrees));
  define(m, "radians", "(a: scalar | array, /, *, ", MLX_CALL_1(radians));
  define(m, "round", "(a: array, /, decimals: int = 0, ",
         [](const array& a, int decimals, const StreamOrDevice& s) {
           return core::round(a, decimals, s);
         });
  define(m, "nan_to_num",
         "(a: scalar | array, nan: float = 0, posinf: float | None = None, "
         "neginf: float | None = None, *, ",
         [](const array& a, double nan, std::optional<double> posinf, std::optional<double> neginf,
            const StreamOrDevice& s) { return core::finite_numbers(a, nan, posinf, neginf, s); });
  define(m, "clip", "(a: array, /, a_min: scalar | array | None, a_max: scalar | array | None, *, ",
         [](const array& a, nb::handle low, nb::handle high, const StreamOrDevice& s) {
           return core::clip(a, bound(a, low, "a_min"), bound(a, high, "a_max"), s);
         });
  def(m,
      "divmod(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> "
      "list[array]",
      [](Operand x, Operand y, const StreamOrDevice& s) {
        const array *a, *b;
        array storage_a, storage_b;
        if (!to_operands(x.object, y.object, a, b, storage_a, storage_b))
          refuse_operands("divmod", x.object, y.object);
        return core::divmod(*a, *b, s);
      });
  define(
      m, "isclose",
      "(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, "
      "equal_nan: bool = False, ",
      [](Operand x, Operand y, double rtol, double atol, bool equal_nan, const StreamOrDevice& s) {
        BothOperands o("isclose", x, y);
        return core::isclose(*o.a, *o.b, rtol, atol, equal_nan, s);
      });
  define(
      m, "allclose",
      "(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, "
      "equal_nan: bool = False, ",
      [](Operand x, Operand y, double rtol, double atol, bool equal_nan, const StreamOrDevice& s) {
        BothOperands o("allclose", x, y);
        return core::allclose(*o.a, *o.b, rtol, atol, equal_nan, s);
      });
  define(m, "array_equal", "(a: scalar | array, b: scalar | array, equal_nan: bool = False, ",
         [](Operand x, Operand y, bool equal_nan, const StreamOrDevice& s) {
           const array *a, *b;
           array storage_a, storage_b;
           if (!to_operands(x.object, y.object, a, b, storage_a, storage_b))
             refuse_operands("array_equal", x.object, y.object);
           return core::array_equal(*a, *b, equal_nan, s);
         });
}

}  // namespace

void bind_elementwise(nb::module_& m, nb::handle array_class) {
  bind_table(m);
  bind_composed(m);
  bind_methods(array_class);
  bind_clip(array_class);
}

}  // namespace mlx::python
