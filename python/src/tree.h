// Trees: arrays in lists, tuples and dicts of any depth, subclasses and named tuples included.
#pragma once

#include <functional>

#include "bind.h"

namespace mlx::python {

/// Calls `visit` on each leaf, in order.
void each_leaf(nb::handle tree, const std::function<void(nb::handle)>& visit);
/// A tree of the same form (containers are of the same classes) with every leaf replaced.
nb::object map_tree(nb::handle tree, const std::function<nb::object(nb::handle)>& fn);
/// A sequence of the class of `like` around new items.
nb::object rebuild_sequence(nb::handle like, nb::list items);
/// Adds the arrays of a tree, passing over other leaves.
void collect_arrays(nb::handle tree, Arrays& out);
/// The arrays of a tree; throws ValueError naming `op` where a leaf is none.
Arrays flatten(nb::handle tree, const char* op);
/// The tree with its arrays replaced, in order, by others; other leaves stay.
nb::object unflatten(nb::handle tree, const Arrays& arrays, size_t first = 0);

}  // namespace mlx::python
