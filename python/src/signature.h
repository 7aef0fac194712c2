// The signatures of bound functions for `inspect.signature`.
#pragma once

#include "function.h"

namespace mlx::python {

/// One inspect.Signature for a function of several signatures: the parameters of the first one, and
/// those that only others have as keywords. A parameter is required if all of them require it.
nb::object inspect_signature(const Overload& first);

}  // namespace mlx::python
