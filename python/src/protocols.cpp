// Protocols of Python and NumPy that take the array class for a number, a sequence or a NumPy
// array.
#include <cmath>

#include "convert.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// NumPy passes `out` to methods of foreign arrays, None for the result of a call.
void require_no_out(const char* op, nb::handle out) {
  if (!out.is_none())
    fail<TypeError>(op, "out of type ", class_name(out),
                    "; None is accepted, arrays do not change");
}

array in_dtype(const array& a, const std::optional<Dtype>& dtype, const StreamOrDevice& s) {
  return dtype ? core::astype(a, *dtype, s) : a;
}

#define MLX_NUMPY_PARAMETERS                                                                    \
  "(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = " \
  "None, keepdims: bool = False, stream: StreamOrDevice = None) -> array"
#define MLX_NUMPY_METHOD(NAME)                                                                  \
  def(                                                                                          \
      c, #NAME MLX_NUMPY_PARAMETERS,                                                            \
      [](const array& x, Axes& axes, std::optional<Dtype> dtype, nb::handle out, bool keepdims, \
         const StreamOrDevice& s) {                                                             \
        require_no_out(#NAME, out);                                                             \
        const array a = in_dtype(x, dtype, s);                                                  \
        return MLX_OVER(core::NAME, axes, keepdims, s);                                         \
      },                                                                                        \
      "The same as the function " #NAME                                                         \
      " of the module; `dtype` is that of the operand, and "                                    \
      "`out` the None that numpy." #NAME " passes.");
#define MLX_NUMPY_SPREAD(NAME)                                                                 \
  def(                                                                                         \
      c,                                                                                       \
      #NAME                                                                                    \
      "(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: "   \
      "None = None, ddof: int = 0, keepdims: bool = False, stream: StreamOrDevice = None) -> " \
      "array",                                                                                 \
      [](const array& x, Axes& axes, std::optional<Dtype> dtype, nb::handle out, int ddof,     \
         bool keepdims, const StreamOrDevice& s) {                                             \
        require_no_out(#NAME, out);                                                            \
        const array a = in_dtype(x, dtype, s);                                                 \
        return MLX_OVER(core::NAME, axes, keepdims, ddof, s);                                  \
      },                                                                                       \
      "The same as the function " #NAME                                                        \
      " of the module; `dtype` is that of the operand, and "                                   \
      "`out` the None that numpy." #NAME " passes.");

/// Functions that numpy.sum(a) and the like call.
void bind_numpy_methods(nb::handle c){
    MLX_NUMPY_METHOD(sum) MLX_NUMPY_METHOD(prod) MLX_NUMPY_METHOD(max) MLX_NUMPY_METHOD(min)
        MLX_NUMPY_METHOD(any) MLX_NUMPY_METHOD(all) MLX_NUMPY_METHOD(mean) MLX_NUMPY_SPREAD(var)
            MLX_NUMPY_SPREAD(std)}

/// "<f4"; empty for a dtype that NumPy does not have.
std::string type_string(Dtype t) {
  if (t == bfloat16) return "";
  const char kind = "buifcV"[static_cast<int>(core::kindof(t))];
  return std::string(t.size() == 1 ? "|" : "<") + kind + std::to_string(t.size());
}

nb::object array_interface(ArrayObject self) {
  array& a = checked(self.ptr());
  const std::string type = type_string(a.dtype());
  if (type.empty()) {
    PyErr_SetString(PyExc_AttributeError, "bfloat16 has no NumPy dtype");
    throw nb::python_error();
  }
  const Export x(a);
  nb::dict out;
  out["version"] = 3;
  out["typestr"] = type;
  out["shape"] = nb::steal(to_python(x.shape));
  out["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(x.data), true);
  nb::object strides = nb::none();
  if (!is_row_contiguous(x.shape, x.strides)) {
    Shape bytes;
    for (int64_t s : x.strides) bytes.push_back(s * a.itemsize());
    strides = nb::steal(to_python(bytes));
  }
  out["strides"] = strides;
  return out;
}

nb::object python_number(const char* op, const array& a) {
  if (a.ndim() != 0)
    fail<TypeError>(op, "an array of shape ", core::to_string(a.shape()),
                    "; an array without axes is accepted");
  return owned(item(a));
}

void bind_numbers(nb::handle c) {
  def(
      c, "__round__(self, ndigits: int | None = None) -> array",
      [](const array& a, std::optional<int> digits) { return core::round(a, digits.value_or(0)); },
      "Each element rounded to `ndigits` decimals; see mlx.core.round.");
  def(
      c, "__trunc__(self) -> int",
      [](const array& a) {
        nb::object number = python_number("__trunc__", a);
        return nb::steal(PyNumber_Long(number.ptr()));
      },
      "The element of an array without axes, without what comes after its point.");
  def(
      c, "as_integer_ratio(self) -> tuple[int, int]",
      [](const array& a) {
        nb::object number = python_number("as_integer_ratio", a);
        note_export(a);
        return nb::object(number.attr("as_integer_ratio")());
      },
      "The element of an array without axes as a quotient of integers.");
}

}  // namespace

void bind_protocols(nb::module_&, nb::handle array_class) {
  // A binary operator with a NumPy array or scalar on the left is the reflected one of ours.
  array_class.attr("__array_priority__") = 1000.0;
  bind_numpy_methods(array_class);
  bind_numbers(array_class);
  def_property(
      array_class, "__numpy_dtype__(self) -> Any",
      [](const array& a) {
        nb::object dtype = nb::steal(to_python(a.dtype()));
        return nb::object(dtype.attr("__numpy_dtype__"));
      },
      "The dtype of NumPy that numpy.result_type finds, from version 2.4 on.");
  def(
      array_class, "__arrow_array__(self, type: Any = None) -> Any",
      [](nb::handle self, nb::handle type) {
        nb::object column = nb::module_::import_("numpy").attr("asarray")(self);
        return nb::object(
            nb::module_::import_("pyarrow").attr("array")(column, nb::arg("type") = type));
      },
      "The array with one axis as an array of PyArrow.");
  def_property(
      array_class, "__array_interface__(self) -> dict[str, Any]",
      [](ArrayObject self) { return array_interface(self); },
      "Shape, type and address of the elements, as NumPy's array interface has them.");
}

}  // namespace mlx::python
