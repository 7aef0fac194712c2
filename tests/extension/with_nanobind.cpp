// An extension written with nanobind.
#include <nanobind/stl/vector.h>

#include "mlx/nanobind.h"
// The functions follow the casters.
#include "functions.h"

NB_MODULE(made, m) {
  bind(m);
  m.def("converted", &converted, nanobind::arg("x"), nanobind::arg("dtype"),
        nanobind::arg("stream").none());
}
