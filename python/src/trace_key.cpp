// Objects as bytes: equal bytes are equal values of equal classes.
#include "trace_key.h"

#include <algorithm>

#include "args.h"
#include "mlx/transforms/compile.h"
#include "state.h"
#include "tree.h"

namespace mlx::python {

namespace {

constexpr const char* kInArguments = " in arguments of a compiled function";

/// True if an instance of a subclass of `base` may differ from another one of equal value: it has
/// attributes, or its class has slots. Members of enumerations do.
bool has_more_than_value(PyObject* p, PyTypeObject* base) {
  for (PyTypeObject* t = Py_TYPE(p); t && t != base; t = t->tp_base) {
    if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    const nb::object slots = nb::borrow(PyDict_GetItemString(t->tp_dict, "__slots__"));
    const int any = slots.is_valid() ? PyObject_IsTrue(slots.ptr()) : 0;
    if (any < 0) throw nb::python_error();
    if (any) return true;
  }
  return attributes_of(p).is_valid();
}

PyTypeObject* constant_base(PyObject* p) {
  if (PyFloat_Check(p)) return &PyFloat_Type;
  if (PyUnicode_Check(p)) return &PyUnicode_Type;
  return PyLong_Check(p) ? &PyLong_Type : nullptr;
}

/// The text, also where UTF-8 cannot express it.
nb::object bytes_of(PyObject* text) {
  return owned(PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass"));
}

}  // namespace

void TraceKey::put_object(char tag, PyObject* o) {
  put<PyObject*>(tag, o);
  named_.push_back(nb::borrow(o));
}

void TraceKey::put_class(PyTypeObject* t) {
  const bool immortal = t == &PyList_Type || t == &PyTuple_Type || t == &PyDict_Type;
  immortal ? put<PyTypeObject*>('t', t) : put_object('t', reinterpret_cast<PyObject*>(t));
}

void TraceKey::read(nb::handle o, bool state) {
  PyObject* p = o.ptr();
  if (is_array(p)) {
    arrays_.push_back(checked(p));
    put('a');
    core::append_to_key(text_, arrays_.back(), shapeless_);
  } else if (PyList_Check(p) || PyTuple_Check(p)) {
    put('l');
    put_class(Py_TYPE(p));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(p);
    put('n', n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      nested(item_of(o, i), state);
      if (PySequence_Fast_GET_SIZE(p) != n) fail_changed("compile");
    }
    if (!state) read_attributes(p);
  } else if (PyDict_Check(p)) {
    put('d');
    put_class(Py_TYPE(p));
    put('n', PyDict_GET_SIZE(p));
    for (const auto& [name, value] : pairs_of(o)) {
      read_hashable(name.ptr());
      nested(value, state);
    }
    if (!state) read_attributes(p);
  } else if (state && is_generator_state(o)) {
    read(nb::object(o[0]), state);
  } else if (!read_constant(p)) {
    if (!state)
      fail<ValueError>("compile", "an argument of type ", class_name(o),
                       "; trees of arrays, numbers, strings and None are accepted");
    put_object('o', p);
  }
}

std::string TraceKey::text_with_shapes() const {
  std::string text = text_;
  for (const array& a : arrays_) core::append_to_key(text, a, false);
  return text;
}

void TraceKey::nested(const nb::object& o, bool state) {
  RecursionGuard guard(kInArguments);
  read(o, state);
}

bool TraceKey::read_constant(PyObject* p) {
  if (p == Py_None || PyBool_Check(p)) {
    put('c', static_cast<char>(p == Py_True ? 1 : p == Py_False ? 0 : 2));
    return true;
  }
  PyTypeObject* base = constant_base(p);
  if (!base) return false;
  if (Py_TYPE(p) != base) {
    if (has_more_than_value(p, base)) {
      put_object('o', p);
      read_attributes(p);
      return true;
    }
    put_class(Py_TYPE(p));
  }
  if (base == &PyFloat_Type) {
    put('f', PyFloat_AS_DOUBLE(p));
  } else if (base == &PyLong_Type) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(p, &overflow);
    put('i', value);
    if (overflow) text_ += text_of(owned(PyNumber_ToBase(p, 16))) + ";";
  } else if (Py_ssize_t n; const char* s = PyUnicode_AsUTF8AndSize(p, &n)) {
    put('s', n);
    text_.append(s, static_cast<size_t>(n));
  } else {
    PyErr_Clear();
    const nb::object bytes = bytes_of(p);
    put('s', PyBytes_GET_SIZE(bytes.ptr()));
    text_.append(PyBytes_AS_STRING(bytes.ptr()), PyBytes_GET_SIZE(bytes.ptr()));
  }
  return true;
}

void TraceKey::read_hashable(PyObject* p) {
  if (read_constant(p)) return;
  if (PyBytes_CheckExact(p)) {
    put('b', PyBytes_GET_SIZE(p));
    text_.append(PyBytes_AS_STRING(p), PyBytes_GET_SIZE(p));
  } else if (PyTuple_Check(p) && !attributes_of(p).is_valid()) {
    put('l');
    put_class(Py_TYPE(p));
    put('n', PyTuple_GET_SIZE(p));
    RecursionGuard guard(kInArguments);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(p); ++i) read_hashable(PyTuple_GET_ITEM(p, i));
  } else if (PyFrozenSet_CheckExact(p)) {
    read_set(p);
  } else {
    put_object('o', p);
    if (PyTuple_Check(p)) read_attributes(p);
  }
}

/// The order of a set's elements says nothing: their keys are sorted.
void TraceKey::read_set(PyObject* set) {
  std::vector<std::string> elements;
  std::string before = std::exchange(text_, {});
  RecursionGuard guard(kInArguments);
  for (nb::handle element : nb::borrow<nb::frozenset>(set)) {
    read_hashable(element.ptr());
    elements.push_back(std::exchange(text_, {}));
  }
  std::ranges::sort(elements);
  text_ = std::move(before);
  put('F', elements.size());
  for (const std::string& element : elements) text_ += element;
}

/// Instances of subclasses differ by their attributes as well, which may change; attributes of an
/// attribute's value are left out.
void TraceKey::read_attributes(PyObject* instance) {
  if (in_attributes_) return;
  in_attributes_ = true;
  if (const nb::object space = attributes_of(instance); space.is_valid()) {
    put('n', PyDict_GET_SIZE(space.ptr()));
    for (const auto& [name, value] : pairs_of(space)) {
      read_hashable(name.ptr());
      if (!read_constant(value.ptr())) put_object('o', value.ptr());
    }
  }
  each_slot(instance, [&](nb::handle, const nb::object& value) {
    if (!value.is_valid())
      put('u');
    else if (!read_constant(value.ptr()))
      put_object('o', value.ptr());
  });
  in_attributes_ = false;
}

}  // namespace mlx::python
