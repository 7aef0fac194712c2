// Functions of trees of arrays that return a second value beside the one that is differentiated.
#pragma once

#include <utility>

#include "transformed.h"

namespace mlx::python {

/// The items of the pair that a function with `has_aux` returned; throws ValueError for others.
std::pair<nb::object, nb::object> pair_with_aux(const char* op, nb::handle result);
/// A tree with new objects for its arrays: a function may change the objects that it returned.
nb::object copied(nb::handle tree);

}  // namespace mlx::python
