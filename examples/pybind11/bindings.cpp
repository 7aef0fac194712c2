// An operation in C++ for Python, bound with pybind11: rescaled(x, low, high) spreads the elements
// of x over an interval. Arrays come and go without a copy of their elements.
#include "mlx/mlx.h"
#include "mlx/pybind11.h"

namespace mx = mlx::core;
namespace py = pybind11;

namespace {

mx::array rescaled(const mx::array& x, float low, float high, mx::StreamOrDevice s) {
  mx::array smallest = mx::min(x, s), span = mx::subtract(mx::max(x, s), smallest, s);
  mx::array unit = mx::divide(mx::subtract(x, smallest, s), span, s);
  return mx::add(mx::multiply(unit, mx::array(high - low), s), mx::array(low), s);
}

}  // namespace

PYBIND11_MODULE(_ext, m) {
  mx::python::require();
  m.def("rescaled", &rescaled, py::arg("x"), py::arg("low") = 0.0f, py::arg("high") = 1.0f,
        py::kw_only(), py::arg("stream") = py::none(), "x spread over [low, high]");
}
