// Reductions: functions of the module and methods of the array class from one list.
#include <cmath>
#include <numeric>

#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

#define MLX_FUNCTION_PARAMETERS "(a: array, /, axis: None | int | Sequence[int] = None, "
#define MLX_METHOD_PARAMETERS "(self, axis: int | Sequence[int] | None = None, "
#define MLX_TAIL "keepdims: bool = False, *, stream: StreamOrDevice = None) -> array"

#define MLX_REDUCE(NAME)                                                   \
  [](const array& a, Axes& axes, bool keepdims, const StreamOrDevice& s) { \
    return MLX_OVER(core::NAME, axes, keepdims, s);                        \
  }
#define MLX_FUNCTION(NAME) def(m, #NAME MLX_FUNCTION_PARAMETERS MLX_TAIL, MLX_REDUCE(NAME));
#define MLX_BOTH(NAME) \
  MLX_FUNCTION(NAME)   \
  def(c, #NAME MLX_METHOD_PARAMETERS MLX_TAIL, MLX_REDUCE(NAME));

void bind_simple(nb::module_& m, nb::handle c) {
  MLX_BOTH(sum)
  MLX_BOTH(prod)
  MLX_BOTH(max)
  MLX_BOTH(min)
  MLX_BOTH(all)
  MLX_BOTH(any)
  MLX_BOTH(mean)
  MLX_FUNCTION(median)
  def(m,
      "count_nonzero(a: array, /, axis: None | int | Sequence[int] = None, "
      "keepdims: bool = False, stream: StreamOrDevice = None) -> array",
      MLX_REDUCE(count_nonzero));
  def(m,
      "minmax(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, "
      "stream: StreamOrDevice = None) -> tuple[array, array]",
      [](const array& a, Axes& axes, bool keepdims, const StreamOrDevice& s) -> nb::object {
        auto [low, high] = MLX_OVER(core::minmax, axes, keepdims, s);
        return tuple_of({low, high});
      });
}
#undef MLX_REDUCE

array variance_over(const array& a, const std::vector<int>& axes, bool keepdims, double correction,
                    const StreamOrDevice& s) {
  return core::variance(a, axes, keepdims, correction, NAN, s);
}
array variance_over(const array& a, int axis, bool keepdims, double correction,
                    const StreamOrDevice& s) {
  return variance_over(a, std::vector<int>{axis}, keepdims, correction, s);
}
array variance_over(const array& a, bool keepdims, double correction, const StreamOrDevice& s) {
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  return variance_over(a, axes, keepdims, correction, s);
}

void bind_spread(nb::module_& m, nb::handle c) {
#define MLX_SPREAD_FUNCTION(NAME, ROOT)                                                         \
  def(m,                                                                                        \
      #NAME MLX_FUNCTION_PARAMETERS                                                             \
      "keepdims: bool = False, ddof: int = 0, *, stream: StreamOrDevice = None) -> array",      \
      [](const array& a, Axes& axes, bool keepdims, int ddof, const StreamOrDevice& s) {        \
        return MLX_OVER(core::NAME, axes, keepdims, ddof, s);                                   \
      });                                                                                       \
  def(c,                                                                                        \
      #NAME MLX_METHOD_PARAMETERS                                                               \
      "keepdims: bool = False, ddof: int = 0, *, correction: float | None = None, "             \
      "stream: StreamOrDevice = None) -> array",                                                \
      [](const array& a, Axes& axes, bool keepdims, int ddof, std::optional<double> correction, \
         const StreamOrDevice& s) {                                                             \
        if (correction) return ROOT(spread(a, axes, keepdims, *correction, s));                 \
        return MLX_OVER(core::NAME, axes, keepdims, ddof, s);                                   \
      });
  MLX_SPREAD_FUNCTION(var, )
  MLX_SPREAD_FUNCTION(std, core::sqrt)
#undef MLX_SPREAD_FUNCTION
}

void bind_positions(nb::module_& m, nb::handle c) {
#define MLX_POSITION(NAME)                                                                         \
  {                                                                                                \
    auto f = [](const array& a, std::optional<int> axis, bool keepdims, const StreamOrDevice& s) { \
      return axis ? core::NAME(a, *axis, keepdims, s) : core::NAME(a, keepdims, s);                \
    };                                                                                             \
    def(m, #NAME "(a: array, /, axis: None | int = None, " MLX_TAIL, f);                           \
    def(c, #NAME "(self, axis: int | None = None, " MLX_TAIL, f);                                  \
  }
  MLX_POSITION(argmax)
  MLX_POSITION(argmin)
#undef MLX_POSITION
}

}  // namespace

void bind_reductions(nb::module_& m, nb::handle array_class) {
  bind_simple(m, array_class);
  bind_spread(m, array_class);
  bind_positions(m, array_class);
}

array spread(const array& a, const Axes& axes, bool keepdims, double correction,
             const StreamOrDevice& s) {
  return MLX_OVER(variance_over, axes, keepdims, correction, s);
}

}  // namespace mlx::python
