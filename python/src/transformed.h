// The Python callables that transformations give back.
#pragma once

#include <functional>

#include "args.h"

namespace mlx::python {

/// What a transformed function does when called.
using TransformedCall = std::function<nb::object(nb::handle fun, Star args, nb::dict kwargs)>;

/// A callable that stands for `fun`: it has its name, documentation and signature, and takes part
/// in garbage collection. `held` are further Python objects that the call needs.
nb::object make_transformed(nb::handle fun, TransformedCall call, nb::object held = nb::none());

/// fun(*args, **kwargs): every function of the program is called here.
nb::object call_object(nb::handle fun, nb::handle args, nb::handle kwargs = {});
nb::object call_python(nb::handle fun, const std::vector<nb::object>& args, nb::handle kwargs = {});

}  // namespace mlx::python
