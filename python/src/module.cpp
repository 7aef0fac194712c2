// The module mlx.core: binds its parts in order.
#include "module.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "lock.h"
#include "mlx/version.h"

namespace mlx::python {

namespace {

void bind_module_constants(nb::module_& m) {
  m.attr("__version__") = mlx::core::version();
  m.attr("pi") = std::numbers::pi;
  m.attr("e") = std::numbers::e;
  m.attr("euler_gamma") = std::numbers::egamma;
  m.attr("inf") = std::numeric_limits<double>::infinity();
  m.attr("nan") = std::numeric_limits<double>::quiet_NaN();
  m.attr("newaxis") = nb::none();
}

/// Classes and functions are global to the process: only one module, in the main interpreter, is
/// supported.
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
  nb::set_leak_warnings(false);  // dtypes and functions are never freed
  m.doc() = "Arrays computed lazily, functions on them, and transformations of such functions.";
  bind_errors(m);
  bind_lock(m);
  bind_module_constants(m);
  // Defaults in signatures name dtypes, so these are bound before all functions.
  bind_dtypes(m);
  bind_devices(m);
  bind_array(m);
  nb::object array_class = m.attr("array");
#define MLX_BIND_MODULE(name) name(m);
#define MLX_BIND_CLASS(name) name(m, array_class);
  MLX_BINDINGS(MLX_BIND_MODULE, MLX_BIND_CLASS)
#undef MLX_BIND_MODULE
#undef MLX_BIND_CLASS
  nb::module_::import_("mlx._reprlib").attr("install")(array_class);
  nb::module_ names = nb::module_::import_("mlx._names");
  m.attr("__getattr__") = names.attr("install")(array_class);
  // Python refuses to set attributes of nanobind's metaclass.
  PyTypeObject* metaclass = Py_TYPE(array_class.ptr());
  if (PyDict_SetItemString(metaclass->tp_dict, "__dir__", names.attr("dir_of_class").ptr()))
    throw nb::python_error();
  PyType_Modified(metaclass);
  m.attr("random").attr("__getattr__") = names.attr("of_random")();
}

}  // namespace mlx::python
