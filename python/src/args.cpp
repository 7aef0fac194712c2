// Conversions of arguments and results.
#include "args.h"

#include "convert.h"

namespace mlx::python {

PyTypeObject* array_type = nullptr;

PyObject* wrap(array a) {
  nb::object o = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(array_type)));
  if (!o.is_valid()) throw nb::python_error();
  new (nb::inst_ptr<void>(o)) array(std::move(a));
  nb::inst_mark_ready(o);
  return o.release().ptr();
}

bool load_array(PyObject* o, array& out) {
  if (is_scalar(o) || is_array_like(o)) {
    out = to_array(o);
    return true;
  }
  return false;
}

bool has_attr(nb::handle o, const char* name) {
#if PY_VERSION_HEX >= 0x030d0000
  const int found = PyObject_HasAttrStringWithError(o.ptr(), name);
  if (found < 0) throw nb::python_error();
  return found;
#else
  if (nb::steal(PyObject_GetAttrString(o.ptr(), name)).is_valid()) return true;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  return false;
#endif
}

namespace {

std::string escaped(const nb::object& text) {
  if (!text.is_valid()) throw nb::python_error();
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

}  // namespace

std::string text_of(nb::handle o) { return escaped(nb::steal(PyObject_Str(o.ptr()))); }
std::string repr_of(nb::handle o) { return escaped(nb::steal(PyObject_Repr(o.ptr()))); }

bool not_of_kind() {
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
  }
  return false;
}

namespace {

/// The element of an array with exactly one element; invalid for others and before evaluation.
nb::object element_of(const array& a) {
  if (a.size() != 1) return {};
  try {
    return nb::steal(item(a));
  } catch (const PlaceholderError&) {
    return {};
  }
}

/// NumPy's bool type, if the program has imported NumPy.
bool is_numpy_bool(PyObject* o) {
  static PyObject* type = nullptr;
  if (!type) {
    nb::object name = nb::str("numpy");
    nb::object numpy = nb::steal(PyImport_GetModule(name.ptr()));
    if (!numpy.is_valid()) return not_of_kind();
    if (!has_attr(numpy, "bool_")) return false;  // NumPy is being imported
    type = nb::object(numpy.attr("bool_")).release().ptr();
  }
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == type;
}

}  // namespace

bool load_integer(PyObject* o, int64_t& out) {
  if (!PyIndex_Check(o)) return false;
  nb::object number;
  if (is_array(o)) {
    const array& a = checked(o);
    if (a.ndim() != 0 || is_inexact(a.dtype()) || a.dtype() == bool_) return false;
    number = element_of(a);
    if (!number.is_valid()) return false;
    o = number.ptr();
  } else if (!PyLong_Check(o)) {
    number = nb::steal(PyNumber_Index(o));
    if (!number.is_valid()) return not_of_kind();
    o = number.ptr();
  }
  int overflow = 0;
  out = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) throw SizeError(cat("[int] ", text_of(o), " does not fit 64 bits"));
  return true;
}

bool From<uint64_t>::load(PyObject* o) {
  if (!PyIndex_Check(o)) return false;
  nb::object number = nb::steal(PyNumber_Index(o));
  if (!number.is_valid()) return not_of_kind();
  value = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    throw SizeError(cat("[int] ", text_of(number), " is not in [0, 2^64)"));
  }
  return true;
}

bool load_real(PyObject* o, double& out) {
  if (PyFloat_Check(o)) {
    out = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (PyUnicode_Check(o) || PyComplex_Check(o) || !PyNumber_Check(o)) return false;
  nb::object number;
  if (is_array(o)) {
    number = element_of(checked(o));
    if (!number.is_valid()) return false;
    o = number.ptr();
  }
  out = PyFloat_AsDouble(o);
  return out != -1 || !PyErr_Occurred() || not_of_kind();
}

bool load_bool(PyObject* o, bool& out) {
  if (!PyBool_Check(o) && !PyIndex_Check(o) && !is_numpy_bool(o)) return false;
  int truth = PyObject_IsTrue(o);
  if (truth < 0) return not_of_kind();
  out = truth;
  return true;
}

bool load_string(PyObject* o, std::string& out) {
  if (!PyUnicode_Check(o)) return false;
  Py_ssize_t n = 0;
  const char* s = PyUnicode_AsUTF8AndSize(o, &n);
  if (!s) throw nb::python_error();
  out.assign(s, static_cast<size_t>(n));
  return true;
}

void fail_changed(const char* op) {
  fail<ValueError>(op, "a list that an item's own code changed; lists must stay as they are");
}

PyObject* to_python(const Arrays& list) {
  nb::object out = owned(PyList_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return out.release().ptr();
}

nb::object tuple_of(const Arrays& list) {
  nb::object out = owned(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return out;
}

Arrays arrays_of(Star items, const char* op) {
  Arrays out;
  for (size_t i = 0; i < items.size(); ++i) {
    From<array> from;
    if (!from.load(items[i].ptr()))
      fail<TypeError>(op, "an argument of type ", class_name(items[i]), "; arrays are accepted");
    out.push_back(from.get());
  }
  return out;
}

PyObject* to_python(const Shape& shape) {
  nb::object out = owned(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i),
                     owned(PyLong_FromLongLong(shape[i])).release().ptr());
  return out.release().ptr();
}

}  // namespace mlx::python
