// Einstein summation.
#include "mlx/ops/einsum.h"

#include "module.h"

namespace mlx::python {

namespace core = mlx::core;

void bind_einsum(nb::module_& m) {
  def(m, "einsum(subscripts: str, *operands: array, stream: StreamOrDevice = None) -> array",
      [](const std::string& subscripts, Star operands, const StreamOrDevice& s) {
        return core::einsum(subscripts, arrays_of(operands, "einsum"), s);
      });
  def(m, "einsum_path(subscripts: str, *operands: array) -> tuple[list[tuple[int, ...]], str]",
      [](const std::string& subscripts, Star operands) -> nb::object {
        auto [path, text] = core::einsum_path(subscripts, arrays_of(operands, "einsum_path"));
        nb::list steps;
        for (const auto& step : path) {
          nb::list positions;
          for (int i : step) positions.append(i);
          steps.append(nb::tuple(positions));
        }
        return nb::make_tuple(steps, text);
      });
}

}  // namespace mlx::python
