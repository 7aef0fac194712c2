// Arrays, dtypes and streams as arguments and results of functions bound with nanobind, of whatever
// version and domain. They share their elements with Python: nothing is copied. Call
// `mlx::core::python::require()` at the start of NB_MODULE: importing the extension then fails
// where the installed mlx does not fit it.
#pragma once

#include <nanobind/nanobind.h>

#include "mlx/python.h"

namespace mlx::core::python {

/// Imports mlx.core and checks that this extension fits it: throws ImportError otherwise.
inline const ExtensionApi& require() {
  const ExtensionApi* found = api();
  if (!found) nanobind::raise_python_error();
  return *found;
}

}  // namespace mlx::core::python

namespace nanobind::detail {

template <>
struct type_caster<mlx::core::array> {
  NB_TYPE_CASTER(mlx::core::array, const_name("mlx.core.array"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    std::optional<mlx::core::array> a = mlx::core::python::load(source.ptr());
    if (a) value = std::move(*a);
    return a.has_value();
  }
  static handle from_cpp(const mlx::core::array& a, rv_policy, cleanup_list*) noexcept {
    const auto* api = mlx::core::python::api();
    return api ? api->wrap(a) : nullptr;
  }
};

template <>
struct type_caster<mlx::core::Dtype> {
  NB_TYPE_CASTER(mlx::core::Dtype, const_name("mlx.core.Dtype"))
  type_caster() : value(mlx::core::float32) {}
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    const auto* api = mlx::core::python::api();
    if (!api) PyErr_Clear();
    return api && api->unwrap_dtype(source.ptr(), value);
  }
  static handle from_cpp(mlx::core::Dtype t, rv_policy, cleanup_list*) noexcept {
    const auto* api = mlx::core::python::api();
    return api ? api->wrap_dtype(t) : nullptr;
  }
};

template <>
struct type_caster<mlx::core::StreamOrDevice> {
  NB_TYPE_CASTER(mlx::core::StreamOrDevice, const_name("mlx.core.StreamOrDevice"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    const auto* api = mlx::core::python::api();
    if (!api) PyErr_Clear();
    return api && api->unwrap_stream(source.ptr(), value);
  }
};

}  // namespace nanobind::detail
