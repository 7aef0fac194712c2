// Arrays of the Python module mlx.core in C++ extensions. mlx/pybind11.h and mlx/nanobind.h build
// on it; extensions written against Python's C API use it directly. Every function is called with
// the GIL, and the extension is linked with the library mlx, as mlx.core is.
#pragma once

#include <Python.h>

#include <optional>

#include "mlx/core/array.h"
#include "mlx/core/device.h"

namespace mlx::core::python {

/// The layout of the classes in the headers, as a number. An extension is used with a module that
/// was compiled with the same one.
inline constexpr int kAbi = 3;

/// The functions that the module hands out, in a capsule: `mlx.core.array._extension_api`.
struct ExtensionApi {
  int abi;  ///< first, so that it is readable in every version
  /// A new Python array of the same node; null with a Python error set.
  PyObject* (*wrap)(const array& a);
  /// The handle in a Python array; null without an error for other objects and null handles.
  const array* (*unwrap)(PyObject* o);
  /// The Python object of a dtype; null with a Python error set.
  PyObject* (*wrap_dtype)(Dtype t);
  /// True for an object of mlx.core.Dtype.
  bool (*unwrap_dtype)(PyObject* o, Dtype& t);
  /// True for a stream, a device and None.
  bool (*unwrap_stream)(PyObject* o, StreamOrDevice& s);
};
inline constexpr const char* kCapsule = "mlx.core.array._extension_api";

namespace detail {

/// The functions of the module; null with a Python error set.
inline const ExtensionApi* find_api() {
  PyObject* core = PyImport_ImportModule("mlx.core");
  PyObject* type = core ? PyObject_GetAttrString(core, "array") : nullptr;
  PyObject* capsule = type ? PyObject_GetAttrString(type, "_extension_api") : nullptr;
  void* found = capsule ? PyCapsule_GetPointer(capsule, kCapsule) : nullptr;
  const bool other_module = core && !found;
  Py_XDECREF(capsule);
  Py_XDECREF(type);
  Py_XDECREF(core);
  if (other_module)
    PyErr_SetString(PyExc_ImportError,
                    "[import] a module mlx.core without support for extensions; install the "
                    "package whose headers this extension was compiled with");
  const auto* api = static_cast<const ExtensionApi*>(found);
  if (!api || api->abi == kAbi) return api;
  PyErr_Format(PyExc_ImportError,
               "[import] an extension for ABI %d of mlx, whose installed version has ABI %d; "
               "compile the extension again",
               kAbi, api->abi);
  return nullptr;
}

}  // namespace detail

/// The functions of the module, which the first call imports and checks; null with an ImportError
/// set where it is missing or was compiled with other headers.
inline const ExtensionApi* api() {
  static const ExtensionApi* found = nullptr;
  if (!found) found = detail::find_api();
  return found;
}

/// The array that an object stands for where core functions take arrays: itself, a number, or an
/// array of another library. None, without an error, for other objects.
inline std::optional<array> load(PyObject* o) {
  const ExtensionApi* functions = api();
  if (!functions) {
    PyErr_Clear();  // reported by require()
    return {};
  }
  if (const array* a = functions->unwrap(o)) return *a;
  const bool number = PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o);
  const bool bytes = PyBytes_Check(o) || PyByteArray_Check(o) || PyMemoryView_Check(o);
  if (!number &&
      (bytes || PyType_Check(o) ||
       !(PyObject_HasAttrString(o, "__array__") || PyObject_HasAttrString(o, "__dlpack__") ||
         PyObject_HasAttrString(o, "__mlx_array__"))))
    return {};
  std::optional<array> out;
  PyObject* core = PyImport_ImportModule("mlx.core");
  PyObject* made = core ? PyObject_CallMethod(core, "asarray", "O", o) : nullptr;
  if (const array* a = made ? functions->unwrap(made) : nullptr) out = *a;
  Py_XDECREF(made);
  Py_XDECREF(core);
  PyErr_Clear();
  return out;
}

}  // namespace mlx::core::python
