// The parts of the module, one function per family.
#pragma once

#include "function.h"

/// Calls an overload set on the array `a` with the axes of a reduction: none, one or several.
#define MLX_OVER(FN, AXES, ...)                                                                    \
  [&] {                                                                                            \
    if (auto* one = std::get_if<int>(&AXES)) return FN(a, *one, __VA_ARGS__);                      \
    if (auto* several = std::get_if<std::vector<int>>(&AXES)) return FN(a, *several, __VA_ARGS__); \
    return FN(a, __VA_ARGS__);                                                                     \
  }()

/// The families of functions in the order in which they are bound: M(f) for functions of the
/// module, C(f) for those that also add methods to the array class.
#define MLX_BINDINGS(M, C) \
  C(bind_elementwise)      \
  C(bind_conversion)       \
  M(bind_creation)         \
  C(bind_views)            \
  C(bind_joins)            \
  C(bind_indexing)         \
  C(bind_reductions)       \
  C(bind_protocols)        \
  C(bind_pickling)         \
  C(bind_extension_api)    \
  C(bind_softmax)          \
  C(bind_scans)            \
  C(bind_sorts)            \
  M(bind_counting)         \
  C(bind_products)         \
  M(bind_quantized)        \
  M(bind_einsum)           \
  M(bind_convolutions)     \
  M(bind_random)           \
  M(bind_memory)           \
  M(bind_transforms)       \
  M(bind_linearize)        \
  M(bind_compile)          \
  M(bind_profile)          \
  M(bind_vmap)             \
  M(bind_control)          \
  M(bind_custom_functions) \
  M(bind_io)               \
  M(bind_export)           \
  M(bind_printing)         \
  M(bind_namespace_info)   \
  M(bind_debug)            \
  M(bind_distributed)      \
  M(bind_fast)             \
  M(bind_fft)              \
  M(bind_linalg)           \
  M(bind_matrix_norm)      \
  C(bind_standard)         \
  M(bind_numbers)          \
  M(bind_statistics)       \
  M(bind_arrangements)     \
  M(bind_curves)           \
  M(bind_special)          \
  M(bind_distributions)    \
  M(bind_sets)             \
  M(bind_lax)              \
  C(bind_methods)

namespace mlx::python {

/// Variance with any correction; NaN if the divisor is not positive.
array spread(const array& a, const Axes& axes, bool keepdims, double correction,
             const StreamOrDevice& s);

/// The axes of a reduction, as functions of the engine take them.
std::optional<std::vector<int>> axes_of(const Axes& axes);
/// Elements of arrays by index; `mode` is 'clip' or 'wrap'.
array choose(const array& index, const Arrays& choices, const std::string& mode,
             const StreamOrDevice& s);

void bind_dtypes(nb::module_& m);
void bind_devices(nb::module_& m);
void bind_array(nb::module_& m);
void bind_linalg_standard(nb::module_& linalg, nb::module_& core);
#define MLX_DECLARE_MODULE(name) void name(nb::module_& m);
#define MLX_DECLARE_CLASS(name) void name(nb::module_& m, nb::handle array_class);
MLX_BINDINGS(MLX_DECLARE_MODULE, MLX_DECLARE_CLASS)
#undef MLX_DECLARE_MODULE
#undef MLX_DECLARE_CLASS

}  // namespace mlx::python
