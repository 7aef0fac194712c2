// The operators of the array class, as type slots: an operator costs one C call in addition to
// making the node. Slots translate exceptions, accept reflected operands, and return NotImplemented
// for unknown operands.
#include "operators.h"

#include "convert.h"
#include "mlx/ops.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
using Binary = array (*)(const array&, const array&, StreamOrDevice);
using Unary = array (*)(const array&, StreamOrDevice);

/// Lists and similar objects are refused at once: Python would otherwise try list repetition.
bool is_never_operand(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o) ||
         PyDict_Check(o);
}
PyObject* raise_unsupported(const char* op, PyObject* x, PyObject* y) {
  PyErr_Format(argument_error, "[%s] operands of types %s and %s; scalars and arrays are accepted",
               op, class_name(x), class_name(y));
  return nullptr;
}

/// fn(x, y), or a null array if one of them is not an operand.
array apply(Binary fn, PyObject* x, PyObject* y) {
  const array *a, *b;
  array storage_a, storage_b;
  if (!to_operands(x, y, a, b, storage_a, storage_b)) return {};
  return fn(*a, *b, {});
}

template <Binary fn>
struct Op {
  static inline const char* name;

  static PyObject* slot(PyObject* x, PyObject* y) {
    return guarded([&]() -> PyObject* {
      array r = apply(fn, x, y);
      if (r) return wrap(std::move(r));
      if (is_never_operand(x) || is_never_operand(y)) return raise_unsupported(name, x, y);
      Py_RETURN_NOTIMPLEMENTED;
    });
  }
  static PyObject* in_place(PyObject* x, PyObject* y) {
    return guarded([&]() -> PyObject* {
      array r = apply(fn, x, y);
      if (!r) {
        if (is_never_operand(y)) return raise_unsupported(name, x, y);
        Py_RETURN_NOTIMPLEMENTED;
      }
      array_of(x) = std::move(r);
      return Py_NewRef(x);
    });
  }
  static PyObject* ternary(PyObject* x, PyObject* y, PyObject* z) {
    if (z != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return slot(x, y);
  }
  static PyObject* ternary_in_place(PyObject* x, PyObject* y, PyObject* z) {
    if (z != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return in_place(x, y);
  }
};

template <Unary fn>
PyObject* unary(PyObject* x) {
  return guarded([&] { return wrap(fn(checked(x), {})); });
}

array positive(const array& a, StreamOrDevice) { return a; }

PyObject* divide_with_remainder(PyObject* x, PyObject* y) {
  return guarded([&]() -> PyObject* {
    const array *a, *b;
    array storage_a, storage_b;
    if (!to_operands(x, y, a, b, storage_a, storage_b)) Py_RETURN_NOTIMPLEMENTED;
    const Arrays both = core::divmod(*a, *b);
    return nb::make_tuple(nb::steal(wrap(both[0])), nb::steal(wrap(both[1]))).release().ptr();
  });
}

PyObject* compare(PyObject* x, PyObject* y, int op) {
  static constexpr Binary fns[] = {core::less,      core::less_equal, core::equal,
                                   core::not_equal, core::greater,    core::greater_equal};
  return guarded([&]() -> PyObject* {
    array r = apply(fns[op], x, y);
    if (r) return wrap(std::move(r));
    if (is_never_operand(y)) {
      if (op == Py_EQ) Py_RETURN_FALSE;
      if (op == Py_NE) Py_RETURN_TRUE;
      return raise_unsupported("compare", x, y);
    }
    Py_RETURN_NOTIMPLEMENTED;
  });
}

int truth(PyObject* x) {
  return guarded(-1, [&] {
    nb::object v = owned(item(checked(x)));
    return PyObject_IsTrue(v.ptr());
  });
}
PyObject* to_int(PyObject* x) {
  return guarded([&] { return PyNumber_Long(owned(item(checked(x))).ptr()); });
}
PyObject* to_float(PyObject* x) {
  return guarded([&] {
    const array a = checked(x);
    nb::object number = owned(item(a));
    note_export(a);
    return PyNumber_Float(number.ptr());
  });
}
PyObject* to_index(PyObject* x) {
  return guarded([&]() -> PyObject* {
    const array& a = checked(x);
    if (a.ndim() != 0 || is_inexact(a.dtype()) || a.dtype() == bool_)
      throw TypeError("[index] only arrays of an integer dtype without axes are indices");
    return item(a);
  });
}

}  // namespace

PyObject* apply_binary(BinaryFunction fn, PyObject* x, PyObject* y, const StreamOrDevice& s) {
  const array *a, *b;
  array storage_a, storage_b;
  if (!to_operands(x, y, a, b, storage_a, storage_b)) return nullptr;
  return wrap(fn(*a, *b, s));
}

std::vector<PyType_Slot> operator_slots() {
  std::vector<PyType_Slot> slots;
  auto add = [&](int id, auto* f) { slots.push_back({id, reinterpret_cast<void*>(f)}); };
#define MLX_OPERATOR(SLOT, FN)           \
  Op<core::FN>::name = #FN;              \
  add(Py_nb_##SLOT, Op<core::FN>::slot); \
  add(Py_nb_inplace_##SLOT, Op<core::FN>::in_place);
  MLX_OPERATOR(add, add)
  MLX_OPERATOR(subtract, subtract)
  MLX_OPERATOR(multiply, multiply)
  MLX_OPERATOR(true_divide, divide)
  MLX_OPERATOR(floor_divide, floor_divide)
  MLX_OPERATOR(remainder, remainder)
  MLX_OPERATOR(lshift, left_shift)
  MLX_OPERATOR(rshift, right_shift)
  MLX_OPERATOR(and, bitwise_and)
  MLX_OPERATOR(or, bitwise_or)
  MLX_OPERATOR(xor, bitwise_xor)
  MLX_OPERATOR(matrix_multiply, matmul)
#undef MLX_OPERATOR
  Op<core::power>::name = "power";
  add(Py_nb_power, Op<core::power>::ternary);
  add(Py_nb_inplace_power, Op<core::power>::ternary_in_place);
  add(Py_nb_divmod, divide_with_remainder);
  add(Py_nb_negative, unary<core::negative>);
  add(Py_nb_positive, unary<positive>);
  add(Py_nb_absolute, unary<core::abs>);
  add(Py_nb_invert, unary<core::bitwise_invert>);
  add(Py_nb_bool, truth);
  add(Py_nb_int, to_int);
  add(Py_nb_float, to_float);
  add(Py_nb_index, to_index);
  add(Py_tp_richcompare, compare);
  add(Py_tp_hash, PyBaseObject_Type.tp_hash);
  return slots;
}

}  // namespace mlx::python
