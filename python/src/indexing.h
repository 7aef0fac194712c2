// Python index expressions: a[...], a[...] = v, a.at[...].
#pragma once

#include "bind.h"
#include "mlx/ops/indexing.h"

namespace mlx::python {

/// Parses the index between the brackets.
IndexItems parse_index(PyObject* index);
array get_item(const array& a, PyObject* index);
/// The value of an assignment to elements of `a`: scalars take its dtype.
array update_value(const array& a, PyObject* value);
/// Adds the class ArrayAt to the module and the property `at` to the array class.
void bind_at(nb::module_& m, nb::handle array_class);

}  // namespace mlx::python
