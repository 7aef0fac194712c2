// An operation in C++ for Python: scaled_sum(x, y, alpha, beta) = alpha x + beta y. It is made of
// operations of mlx, so that it is lazy, fused, differentiable and batched like them.
#include "mlx/mlx.h"
#include "mlx/nanobind.h"

namespace mx = mlx::core;
namespace nb = nanobind;

namespace {

mx::array scaled_sum(const mx::array& x, const mx::array& y, float alpha, float beta,
                     mx::StreamOrDevice s) {
  mx::Dtype dtype = mx::promote_types(x.dtype(), y.dtype());
  return mx::add(mx::multiply(mx::array(alpha, dtype), x, s),
                 mx::multiply(mx::array(beta, dtype), y, s), s);
}

}  // namespace

NB_MODULE(_ext, m) {
  mx::python::require();
  m.def("scaled_sum", &scaled_sum, nb::arg("x"), nb::arg("y"), nb::arg("alpha") = 1.0f,
        nb::arg("beta") = 1.0f, nb::kw_only(), nb::arg("stream") = nb::none(), "alpha x + beta y");
}
