// Additions of the array API standard to other families: further signatures, and functions that
// only the standard has. Bound after the others.
#include "mlx/ops/standard.h"

#include <cmath>

#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

void bind_floats(nb::module_& m) {
#define MLX_BINARY(NAME)                                                              \
  def(m, #NAME "(a: scalar | array, b: scalar | array, /, *, " STREAM,                \
      [](Operand x, Operand y, const StreamOrDevice& s) {                             \
        const array *a, *b;                                                           \
        array storage_a, storage_b;                                                   \
        if (!to_operands(x.object, y.object, a, b, storage_a, storage_b))             \
          fail<TypeError>(#NAME, "operands of types ", class_name(x.object), " and ", \
                          class_name(y.object), "; scalars and arrays are accepted"); \
        return core::NAME(*a, *b, s);                                                 \
      });
  MLX_BINARY(copysign)
  MLX_BINARY(hypot)
  MLX_BINARY(nextafter)
#undef MLX_BINARY
  def(m, "signbit(a: array, /, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::signbit(a, s); });
}

std::complex<double> complex_of(nb::handle o) {
  const Py_complex c = PyComplex_AsCComplex(o.ptr());
  if (c.real == -1 && PyErr_Occurred()) throw nb::python_error();
  return {c.real, c.imag};
}

void bind_complex_ranges(nb::module_& m) {
  def(m,
      "linspace(start: complex, stop: complex, /, num: int = 50, *, endpoint: bool = True, dtype: "
      "Dtype | None = None, " STREAM,
      [](nb::handle start, nb::handle stop, int num, bool endpoint, std::optional<Dtype> dtype,
         const StreamOrDevice& s) {
        const Dtype t = dtype.value_or(complex64), part = core::real_dtype(t);
        if (!core::is_complex(t))
          fail<ValueError>("linspace", "complex ends and dtype ", core::dtype_name(t),
                           "; complex dtypes are accepted");
        const auto a = complex_of(start), b = complex_of(stop);
        const array x = core::linspace(a.real(), b.real(), num, endpoint, part, s);
        const array y = core::linspace(a.imag(), b.imag(), num, endpoint, part, s);
        return core::from_parts(x, y, s);
      });
}

void bind_orders(nb::module_& m) {
#define MLX_SORT(NAME)                                                                           \
  def(                                                                                           \
      m,                                                                                         \
      #NAME                                                                                      \
      "(a: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, " STREAM, \
      [](const array& a, int axis, bool descending, bool, const StreamOrDevice& s) {             \
        return descending ? core::NAME##_descending(a, axis, s) : core::NAME(a, axis, s);        \
      },                                                                                         \
      "");
  MLX_SORT(sort)
  MLX_SORT(argsort)
#undef MLX_SORT
#define MLX_SCAN(NAME, SCAN, FROM)                                                       \
  def(m,                                                                                 \
      #NAME                                                                              \
      "(a: array, /, axis: int | None = None, *, reverse: bool = False, "                \
      "inclusive: bool = True, dtype: Dtype | None = None, include_initial: bool = "     \
      "False, " STREAM,                                                                  \
      [](const array& a, std::optional<int> axis, bool reverse, bool inclusive,          \
         std::optional<Dtype> t, bool initial, const StreamOrDevice& s) {                \
        if (!initial)                                                                    \
          return axis ? core::SCAN(a, *axis, reverse, inclusive, t, s)                   \
                      : core::SCAN(a, reverse, inclusive, t, s);                         \
        if (reverse || !inclusive)                                                       \
          fail<ValueError>(#NAME,                                                        \
                           "include_initial with reverse or without inclusive; a plain " \
                           "scan is accepted");                                          \
        return core::FROM(a, axis, t, s);                                                \
      });
  MLX_SCAN(cumulative_sum, cumsum, cumsum_from_zero)
  MLX_SCAN(cumulative_prod, cumprod, cumprod_from_one)
#undef MLX_SCAN
}

void bind_reductions(nb::module_& m) {
#define OVER "(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, "
#define MLX_TOTAL(NAME)                                                     \
  def(                                                                      \
      m, #NAME OVER "dtype: Dtype | None, " STREAM,                         \
      [](const array& x, Axes& axes, bool keepdims, std::optional<Dtype> t, \
         const StreamOrDevice& s) {                                         \
        const array a = t ? core::astype(x, *t, s) : x;                     \
        const array out = MLX_OVER(core::NAME, axes, keepdims, s);          \
        return t ? core::astype(out, *t, s) : out;                          \
      },                                                                    \
      "");
  MLX_TOTAL(sum)
  MLX_TOTAL(prod)
#undef MLX_TOTAL
#define MLX_SPREAD(NAME, ROOT)                                                                    \
  def(                                                                                            \
      m, #NAME OVER "correction: float, " STREAM,                                                 \
      [](const array& a, Axes& axes, bool keepdims, double correction, const StreamOrDevice& s) { \
        return ROOT(spread(a, axes, keepdims, correction, s));                                    \
      },                                                                                          \
      "");
  MLX_SPREAD(var, )
  MLX_SPREAD(std, core::sqrt)
#undef MLX_SPREAD
}

/// A bound of clip as an operand beside the clipped array.
std::optional<array> end_of(const array& a, nb::handle o) {
  std::optional<array> out;
  if (o.is_none()) return out;
  if (!weak_array(o.ptr(), a.dtype(), out.emplace()))
    fail<TypeError>("clip", "an end of type ", class_name(o),
                    "; scalars, arrays and None are accepted");
  return out;
}

void bind_places(nb::module_& m) {
  def(m,
      "clip(a: array, /, min: scalar | array | None = None, max: scalar | array | None = None, "
      "*, " STREAM,
      [](const array& a, nb::handle low, nb::handle high, const StreamOrDevice& s) {
        if (low.is_none() && high.is_none()) return a;
        return core::clip(a, end_of(a, low), end_of(a, high), s);
      });
  def(m, "repeat(array: array, repeats: array, axis: int | None = None, *, " STREAM,
      [](array a, array counts, std::optional<int> axis, const StreamOrDevice& s) {
        return core::repeat(axis ? a : core::flatten(a, s), counts, axis.value_or(0), s);
      });
  def(m, "moveaxis(a: array, /, source: Sequence[int], destination: Sequence[int], *, " STREAM,
      [](const array& a, std::vector<int>& from, std::vector<int>& to, const StreamOrDevice& s) {
        return core::moveaxis(a, from, to, s);
      });
  def(m, "astype(a: array, dtype: Dtype, /, *, copy: bool, " STREAM,
      [](const array& a, Dtype t, bool, const StreamOrDevice& s) { return core::astype(a, t, s); });
  def(m, "reshape(a: array, /, shape: Sequence[int], *, copy: bool | None, " STREAM,
      [](const array& a, Shape& shape, std::optional<bool> copy, const StreamOrDevice& s) {
        const array out = core::reshape(a, shape, s);
        return copy.value_or(false) ? core::copy(out, s) : out;
      });
}

void bind_devices_of_arrays(nb::handle c) {
  def_property(
      c, "device(self) -> Device", [](const array& a) { return stream_of(a).device; },
      "The device that computes the array.");
  def(
      c,
      "to_device(self, device: Device | Stream | None, /, *, stream: StreamOrDevice = None) -> "
      "array",
      [](const array& a, const StreamOrDevice& device, const StreamOrDevice& s) {
        const Stream to = to_stream(std::holds_alternative<std::monostate>(s) ? device : s);
        return to.device == stream_of(a).device ? a : core::copy(a, to);
      },
      "The array on a device: itself where it is there, else a copy.");
}

}  // namespace

void bind_standard(nb::module_& m, nb::handle c) {
  nb::module_ linalg = nb::borrow<nb::module_>(m.attr("linalg"));
  bind_linalg_standard(linalg, m);
  bind_complex_ranges(m);
  bind_floats(m);
  bind_orders(m);
  bind_reductions(m);
  bind_places(m);
  bind_devices_of_arrays(c);
  m.attr("bool") = m.attr("bool_");
  m.attr("__array_api_version__") = "2025.12";
}

}  // namespace mlx::python
