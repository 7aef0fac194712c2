// Cumulative functions and differences.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
#define SCAN_TAIL "reverse: bool = False, inclusive: bool = True, "
#define STREAM "stream: StreamOrDevice = None) -> array"
}  // namespace

void bind_scans(nb::module_& m, nb::handle c) {
#define MLX_SCAN(NAME)                                                      \
  [](const array& a, std::optional<int> axis, bool reverse, bool inclusive, \
     const StreamOrDevice& s) {                                             \
    return axis ? core::NAME(a, *axis, reverse, inclusive, s)               \
                : core::NAME(a, reverse, inclusive, s);                     \
  }
#define MLX_METHOD(NAME) \
  def(c, #NAME "(self, axis: int | None = None, *, " SCAN_TAIL STREAM, MLX_SCAN(NAME));
#define MLX_SCAN_BOTH(NAME)                                                                    \
  def(m, #NAME "(a: array, /, axis: int | None = None, *, " SCAN_TAIL STREAM, MLX_SCAN(NAME)); \
  MLX_METHOD(NAME)
#define MLX_TYPED(NAME)                                                         \
  def(m,                                                                        \
      #NAME "(a: array, /, axis: int | None = None, *, " SCAN_TAIL              \
            "dtype: Dtype | None = None, " STREAM,                              \
      [](const array& a, std::optional<int> axis, bool reverse, bool inclusive, \
         std::optional<Dtype> dtype, const StreamOrDevice& s) {                 \
        return axis ? core::NAME(a, *axis, reverse, inclusive, dtype, s)        \
                    : core::NAME(a, reverse, inclusive, dtype, s);              \
      });                                                                       \
  MLX_METHOD(NAME)
  MLX_TYPED(cumsum)
  MLX_TYPED(cumprod)
  MLX_SCAN_BOTH(cummax)
  MLX_SCAN_BOTH(cummin)
  MLX_SCAN_BOTH(logcumsumexp)
  def(m,
      "diff(a: array, /, n: int = 1, axis: int = -1, *, prepend: scalar | array | None = None, "
      "append: scalar | array | None = None, " STREAM,
      [](const array& a, int n, int axis, nb::handle prepend, nb::handle append,
         const StreamOrDevice& s) {
        auto end = [&](nb::handle o) {
          std::optional<array> out;
          if (o.is_none()) return out;
          if (!weak_array(o.ptr(), a.dtype(), out.emplace()))
            fail<TypeError>("diff", "an end of type ", class_name(o),
                            "; scalars and arrays are accepted");
          return out;
        };
        return core::diff(a, n, axis, end(prepend), end(append), s);
      });
}
#undef MLX_SCAN
#undef MLX_METHOD

}  // namespace mlx::python
