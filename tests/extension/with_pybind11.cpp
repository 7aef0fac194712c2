// An extension written with pybind11.
#include <pybind11/stl.h>

#include "mlx/pybind11.h"
// The functions follow the casters.
#include "functions.h"

PYBIND11_MODULE(made, m) {
  bind(m);
  m.def("converted", &converted);
}
