// Arrays, dtypes and streams as arguments and results of functions bound with pybind11. They share
// their elements with Python: nothing is copied. Call `mlx::core::python::require()` at the start
// of PYBIND11_MODULE: importing the extension then fails where the installed mlx does not fit it.
#pragma once

#include <pybind11/pybind11.h>

#include "mlx/python.h"

namespace mlx::core::python {

/// Imports mlx.core and checks that this extension fits it: throws ImportError otherwise.
inline const ExtensionApi& require() {
  const ExtensionApi* found = api();
  if (!found) throw pybind11::error_already_set();
  return *found;
}

}  // namespace mlx::core::python

namespace pybind11::detail {

template <>
struct type_caster<mlx::core::array> {
  PYBIND11_TYPE_CASTER(mlx::core::array, const_name("mlx.core.array"));
  bool load(handle source, bool) {
    mlx::core::python::require();
    std::optional<mlx::core::array> a = mlx::core::python::load(source.ptr());
    if (a) value = std::move(*a);
    return a.has_value();
  }
  static handle cast(const mlx::core::array& a, return_value_policy, handle) {
    PyObject* o = mlx::core::python::require().wrap(a);
    if (!o) throw error_already_set();
    return o;
  }
};

template <>
struct type_caster<mlx::core::Dtype> {
  PYBIND11_TYPE_CASTER(mlx::core::Dtype, const_name("mlx.core.Dtype"));
  type_caster() : value(mlx::core::float32) {}
  bool load(handle source, bool) {
    return mlx::core::python::require().unwrap_dtype(source.ptr(), value);
  }
  static handle cast(mlx::core::Dtype t, return_value_policy, handle) {
    PyObject* o = mlx::core::python::require().wrap_dtype(t);
    if (!o) throw error_already_set();
    return o;
  }
};

template <>
struct type_caster<mlx::core::StreamOrDevice> {
  PYBIND11_TYPE_CASTER(mlx::core::StreamOrDevice, const_name("mlx.core.StreamOrDevice"));
  bool load(handle source, bool) {
    return mlx::core::python::require().unwrap_stream(source.ptr(), value);
  }
};

}  // namespace pybind11::detail
