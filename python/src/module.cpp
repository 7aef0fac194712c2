// The module mlx.core: what it is made of, in order.
#include "module.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "lock.h"
#include "mlx/version.h"

namespace mlx::python {

namespace {

void bind_constants(nb::module_& m) {
  m.attr("__version__") = mlx::core::version();
  m.attr("pi") = std::numbers::pi;
  m.attr("e") = std::numbers::e;
  m.attr("euler_gamma") = std::numbers::egamma;
  m.attr("inf") = std::numeric_limits<double>::infinity();
  m.attr("nan") = std::numeric_limits<double>::quiet_NaN();
  m.attr("newaxis") = nb::none();
}

/// Classes and functions are the process's: there is one module, of the main interpreter.
void claim_process() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main())
    throw std::runtime_error(
        "[import] mlx.core in a subinterpreter; it can be imported by the main interpreter");
  static bool loaded = false;
  if (std::exchange(loaded, true))
    throw std::runtime_error(
        "[import] mlx.core was removed from sys.modules; it can be loaded once in a process");
}

}  // namespace

NB_MODULE(core, m) {
  claim_process();
  nb::set_leak_warnings(false);  // dtypes and functions live as long as the process
  m.doc() = "Arrays computed lazily, functions on them, and transformations of such functions.";
  bind_errors(m);
  bind_lock(m);
  bind_constants(m);
  // Defaults in signatures name dtypes: they come before all functions.
  bind_dtypes(m);
  bind_devices(m);
  bind_array(m);
  nb::object array_class = m.attr("array");
  bind_elementwise(m, array_class);
  bind_conversion(m, array_class);
  bind_creation(m);
  bind_views(m, array_class);
  bind_joins(m, array_class);
  bind_indexing(m);
  bind_reductions(m, array_class);
  bind_softmax(m, array_class);
  bind_scans(m, array_class);
  bind_sorts(m);
  bind_counting(m);
  bind_products(m);
  bind_quantized(m);
  bind_einsum(m);
  bind_convolutions(m);
  bind_random(m);
  bind_memory(m);
  bind_transforms(m);
  bind_compile(m);
  bind_profile(m);
  bind_vmap(m);
  bind_custom_functions(m);
  bind_io(m);
  bind_export(m);
  bind_printing(m);
  bind_namespace_info(m);
  bind_debug(m);
  bind_distributed(m);
  bind_fast(m);
  bind_fft(m);
  bind_linalg(m);
  bind_matrix_norm(m);
  bind_standard(m, array_class);
  nb::module_::import_("mlx._reprlib").attr("install")(array_class);
}

}  // namespace mlx::python
