// The Python callables returned by transformations.
#pragma once

#include <functional>

#include "args.h"

namespace mlx::python {

/// The call behind a transformed function.
using TransformedCall = std::function<nb::object(nb::handle fun, Star args, nb::dict kwargs)>;

/// A callable with the name, documentation and signature of `fun` that takes part in garbage
/// collection. `recipe`: the name of the function of mlx.core that makes it, and that function's
/// arguments after `fun`; it pickles as that call. `held`: further Python objects that `call` uses.
nb::object make_transformed(nb::handle fun, TransformedCall call, nb::tuple recipe,
                            nb::object held = nb::none());

/// The function of a transformed one; invalid for other objects.
nb::object function_within(nb::handle transformed);

/// fun(*args, **kwargs). Every call of user functions goes through here.
nb::object call_object(nb::handle fun, nb::handle args, nb::handle kwargs = {});
nb::object call_python(nb::handle fun, const std::vector<nb::object>& args, nb::handle kwargs = {});

}  // namespace mlx::python
