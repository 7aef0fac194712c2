// Composite functions with kernels of their own: the submodule mlx.core.fast.
#include "mlx/ops/norm.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace fast = mlx::core::fast;
#define STREAM "stream: StreamOrDevice = None) -> array"

void bind_norms(nb::module_& m) {
  def(
      m, "rms_norm(x: array, weight: array | None, eps: float, *, " STREAM,
      [](const array& x, const std::optional<array>& weight, double eps, const StreamOrDevice& s) {
        return fast::rms_norm(x, weight, eps, s);
      },
      "x / sqrt(mean(x^2) + eps) * weight over the last axis.");
  def(
      m, "layer_norm(x: array, weight: array | None, bias: array | None, eps: float, *, " STREAM,
      [](const array& x, const std::optional<array>& weight, const std::optional<array>& bias,
         double eps, const StreamOrDevice& s) { return fast::layer_norm(x, weight, bias, eps, s); },
      "(x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last axis.");
}

}  // namespace

void bind_fast(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("fast", "Composite functions with kernels of their own.");
  bind_norms(m);
}

}  // namespace mlx::python
