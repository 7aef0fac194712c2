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

namespace mlx::python {

/// Variance with any correction; NaN where it leaves nothing to divide by.
array spread(const array& a, const Axes& axes, bool keepdims, double correction,
             const StreamOrDevice& s);

void bind_dtypes(nb::module_& m);
void bind_devices(nb::module_& m);
void bind_array(nb::module_& m);
void bind_elementwise(nb::module_& m, nb::handle array_class);
void bind_creation(nb::module_& m);
void bind_conversion(nb::module_& m, nb::handle array_class);
void bind_views(nb::module_& m, nb::handle array_class);
void bind_joins(nb::module_& m, nb::handle array_class);
void bind_indexing(nb::module_& m);
void bind_reductions(nb::module_& m, nb::handle array_class);
void bind_softmax(nb::module_& m, nb::handle array_class);
void bind_einsum(nb::module_& m);
void bind_convolutions(nb::module_& m);
void bind_namespace_info(nb::module_& m);
void bind_scans(nb::module_& m, nb::handle array_class);
void bind_sorts(nb::module_& m);
void bind_products(nb::module_& m);
void bind_quantized(nb::module_& m);
void bind_random(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_transforms(nb::module_& m);
void bind_compile(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_vmap(nb::module_& m);
void bind_custom_functions(nb::module_& m);
void bind_io(nb::module_& m);
void bind_export(nb::module_& m);
void bind_printing(nb::module_& m);
void bind_debug(nb::module_& m);
void bind_distributed(nb::module_& core);
void bind_fast(nb::module_& core);
void bind_counting(nb::module_& m);
void bind_standard(nb::module_& m, nb::handle array_class);
void bind_fft(nb::module_& core);
void bind_linalg(nb::module_& core);
void bind_linalg_standard(nb::module_& linalg, nb::module_& core);
void bind_matrix_norm(nb::module_& m);

}  // namespace mlx::python
