// Softmax and its relatives.
#include "mlx/ops/softmax.h"

#include "module.h"

namespace mlx::python {

namespace core = mlx::core;

void bind_softmax(nb::module_& m, nb::handle c) {
  def(m,
      "softmax(a: array, /, axis: None | int | Sequence[int] = None, *, precise: bool = False, "
      "stream: StreamOrDevice = None) -> array",
      [](const array& a, Axes& axes, bool precise, const StreamOrDevice& s) {
        return MLX_OVER(core::softmax, axes, precise, s);
      });
  auto logsumexp = [](const array& a, Axes& axes, bool keepdims, const StreamOrDevice& s) {
    return MLX_OVER(core::logsumexp, axes, keepdims, s);
  };
  constexpr const char* doc = "log(sum(exp(a))) over axes, or over all, without overflow.";
  def(m,
      "logsumexp(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, "
      "stream: StreamOrDevice = None) -> array",
      logsumexp);
  def(c,
      "logsumexp(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, "
      "stream: StreamOrDevice = None) -> array",
      logsumexp, doc);
}

}  // namespace mlx::python
