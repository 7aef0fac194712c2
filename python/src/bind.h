// The common base of the bindings: nanobind, the array type seen from Python, and the
// function that turns C++ exceptions into Python ones.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "mlx/core/array.h"
#include "mlx/core/error.h"

namespace mlx::python {

namespace nb = nanobind;
using namespace mlx::core;

/// The Python class `mlx.core.array`; set when it is bound.
extern PyTypeObject* array_type;

inline bool is_array(PyObject* o) {
  return Py_TYPE(o) == array_type || PyType_IsSubtype(Py_TYPE(o), array_type);
}
/// The handle inside an object that `is_array`.
inline array& array_of(PyObject* o) { return *nb::inst_ptr<array>(o); }
/// The same; throws ValueError for an object whose __init__ never ran.
inline array& checked(PyObject* o) {
  array& a = array_of(o);
  if (!a) throw ValueError("[array] the array was never initialised; call array(...)");
  return a;
}
/// The value in an instance of a bound class; throws TypeError for one whose __init__ never ran.
template <class T>
T& instance_of(nb::handle o) {
  if (!nb::inst_ready(o))
    throw TypeError(std::string("[") + Py_TYPE(o.ptr())->tp_name +
                    "] the object was never initialised; call its class or what makes it");
  return *nb::inst_ptr<T>(o);
}
/// The new object that a function of Python's C interface returns; null throws its error.
inline nb::object owned(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}
/// Item `i` of a list or tuple.
inline nb::object item_of(nb::handle sequence, Py_ssize_t i) {
  return nb::borrow(PySequence_Fast_GET_ITEM(sequence.ptr(), i));
}
/// A new Python object that holds `a`.
PyObject* wrap(array a);

/// Sets the Python error that stands for the C++ exception being handled; returns null.
PyObject* raise_current() noexcept;
/// For a thread that Python ends while it waits for Python's lock, as it does with daemon threads
/// once the program ends: unwinding would run code that wants the lock.
[[noreturn]] void stay_forever() noexcept;
#if defined(__APPLE__)
struct ThreadEnds {};  // no exception: a thread ends there without unwinding
#else
using ThreadEnds = abi::__forced_unwind;
#endif
/// Makes the exception classes of the module.
void bind_errors(nb::module_& m);
/// An argument of a wrong type: both TypeError and ValueError.
extern PyObject *argument_error, *communication_error;

/// Runs `f` and turns what it throws into a Python error and `failure`.
template <class R, class F>
R guarded(R failure, F&& f) noexcept {
  try {
    return f();
  } catch (ThreadEnds&) {
    stay_forever();
  } catch (...) {
    raise_current();
    return failure;
  }
}
template <class F>
PyObject* guarded(F&& f) noexcept {
  return guarded<PyObject*>(nullptr, std::forward<F>(f));
}

/// A level of nesting, counted with those of Python functions; throws RecursionError when there are
/// too many. `where` continues "maximum recursion depth exceeded".
struct RecursionGuard {
  explicit RecursionGuard(const char* where) {
    if (Py_EnterRecursiveCall(where)) throw nb::python_error();
  }
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
  RecursionGuard(const RecursionGuard&) = delete;
};

/// True where the object has the attribute. Exceptions other than AttributeError are thrown.
bool has_attr(nb::handle o, const char* name);
/// For a conversion that failed in Python code: false, since a TypeError says that the object is of
/// another kind. Any other exception is the program's own, and is thrown.
bool not_of_kind();

/// str(o) and repr(o) for messages: UTF-8, in which halves of surrogate pairs are escaped.
std::string text_of(nb::handle o);
std::string repr_of(nb::handle o);

/// "list" for [1, 2]. Some versions of Python put the module in front of this package's classes.
inline const char* class_name(nb::handle o) {
  const std::string_view name = Py_TYPE(o.ptr())->tp_name;
  return name.data() + (name.starts_with("mlx.") ? name.rfind('.') + 1 : 0);
}

}  // namespace mlx::python
