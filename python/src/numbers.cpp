// Elementwise functions of NumPy that are composed of others, and names that NumPy has beside
// MLX's.
#include "mlx/ops/numbers.h"

#include "convert.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

void bind_names(nb::module_& m) {
  constexpr std::pair<const char*, const char*> names[] = {{"absolute", "abs"},
                                                           {"amax", "max"},
                                                           {"amin", "min"},
                                                           {"around", "round"},
                                                           {"bitwise_not", "bitwise_invert"},
                                                           {"deg2rad", "radians"},
                                                           {"fabs", "abs"},
                                                           {"fix", "trunc"},
                                                           {"invert", "bitwise_invert"},
                                                           {"mod", "remainder"},
                                                           {"rad2deg", "degrees"},
                                                           {"true_divide", "divide"}};
  for (auto [name, of] : names) alias(m, name, of);
}

}  // namespace

void bind_numbers(nb::module_& m) {
#define MLX_UNARY(NAME)                    \
  def(m, #NAME "(a: array, /, *, " STREAM, \
      [](const array& a, const StreamOrDevice& s) { return core::NAME(a, s); });
#define MLX_BINARY(NAME)                                               \
  def(m, #NAME "(a: scalar | array, b: scalar | array, /, *, " STREAM, \
      [](Operand x, Operand y, const StreamOrDevice& s) {              \
        BothOperands o(#NAME, x, y);                                   \
        return core::NAME(*o.a, *o.b, s);                              \
      });
  MLX_UNARY(exp2)
  MLX_UNARY(angle)
  MLX_BINARY(fmax)
  MLX_BINARY(fmin)
  MLX_BINARY(fmod)
  MLX_BINARY(heaviside)
  MLX_BINARY(lcm)
  MLX_BINARY(logaddexp2)
#undef MLX_UNARY
#undef MLX_BINARY
  bind_names(m);
}

}  // namespace mlx::python
