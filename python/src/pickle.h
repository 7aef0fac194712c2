// Shared parts of pickling and copying of bound objects.
#pragma once

#include "bind.h"

namespace mlx::python {

/// For the object that stands where the definition of `fun` says (a decorated function of a
/// module): the call that finds it there, as `__reduce__` returns it. Null for other objects.
nb::object reduce_to_name(nb::handle fun, nb::handle object);

}  // namespace mlx::python
