// The array class's operators, and binary functions of any operands.
#pragma once

#include <vector>

#include "bind.h"

namespace mlx::python {

using BinaryFunction = array (*)(const array&, const array&, StreamOrDevice);

/// The type slots of arithmetic, comparison, conversion to numbers, and hashing.
std::vector<PyType_Slot> operator_slots();

/// fn(x, y) for scalars and arrays, promoted together; null if one of them is neither.
PyObject* apply_binary(BinaryFunction fn, PyObject* x, PyObject* y, const StreamOrDevice& s);

}  // namespace mlx::python
