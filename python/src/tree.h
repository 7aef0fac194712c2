// Trees: arrays in nested lists, tuples and dicts, including subclasses and named tuples.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "bind.h"

namespace mlx::python {

/// The keys and values of a dict, which code of the program may change while they are read. They
/// have the order of iteration, which is another one in an OrderedDict.
std::vector<std::pair<nb::object, nb::object>> pairs_of(nb::handle dict);
/// Calls `visit` on each leaf, in order.
void each_leaf(nb::handle tree, const std::function<void(nb::handle)>& visit);
/// A tree of the same structure and container classes with every leaf replaced.
nb::object map_tree(nb::handle tree, const std::function<nb::object(nb::handle)>& fn);
/// Assigns a value to a key of a dict or OrderedDict, without code of other subclasses.
void set_item(nb::handle dict, nb::handle key, nb::handle value);
/// The instance's attributes; invalid where it has none, and where they are its items.
nb::object attributes_of(PyObject* p);
/// Calls `f(slot, value)` for each slot that the classes of an instance declare; the value is
/// invalid where none was assigned.
void each_slot(PyObject* p, const std::function<void(nb::handle, const nb::object&)>& f);
/// A sequence of the class and with the attributes of `like`, and with new items.
nb::object rebuild_sequence(nb::handle like, nb::list items);
/// Appends the arrays of a tree and skips other leaves.
void collect_arrays(nb::handle tree, Arrays& out);
/// The arrays of a tree; throws ValueError naming `op` for other leaves.
Arrays flatten(nb::handle tree, const char* op);
/// Appends an array of `given` for each array of `tree`, which has the same structure. None stands
/// for null arrays: one for a leaf, one for each array of a branch. False where the structures
/// differ; `out` is then unspecified.
bool pair_arrays(nb::handle tree, nb::handle given, Arrays& out);
/// The tree with its arrays replaced in order; other leaves are unchanged.
nb::object unflatten(nb::handle tree, const Arrays& arrays, size_t first = 0);

}  // namespace mlx::python
