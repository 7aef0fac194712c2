// Results with named fields: named tuples.
#pragma once

#include "convert.h"

namespace mlx::python {

/// Adds a named tuple class to a module.
inline void add_named(nb::module_& m, const char* type, const char* fields) {
  m.attr(type) = nb::module_::import_("collections")
                     .attr("namedtuple")(type, fields, nb::arg("module") = m.attr("__name__"));
}

/// The items as a named tuple of mlx.core.linalg.
inline nb::object linalg_result(const char* type, const Arrays& items) {
  return nb::module_::import_("mlx.core").attr("linalg").attr(type)(*tuple_of(items));
}

}  // namespace mlx::python
