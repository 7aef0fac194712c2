// Temporary replacement of arrays in containers, and their restoration.
#include "substitution.h"

#include "tree.h"

namespace mlx::python {

namespace {

/// A container that does not accept the original object keeps its current content.
void ignore_failure(int status) {
  if (status < 0) PyErr_Clear();
}

}  // namespace

nb::object Substitution::replace(nb::handle tree, const Arrays& arrays, size_t& next) {
  roots_.push_back(nb::borrow(tree));
  return visit(tree, [&](const array&) { return nb::steal(wrap(arrays.at(next++))); }, true);
}

nb::object Substitution::protect(nb::handle tree) {
  roots_.push_back(nb::borrow(tree));
  return visit(tree, [](const array& a) { return nb::steal(wrap(a)); }, false);
}

nb::object Substitution::put(nb::object now, nb::handle before, const void* node) {
  // If a container occurs twice in the arguments, its first content is the original.
  auto known = places_.find(before.ptr());
  nb::object first = known == places_.end() ? nb::borrow(before) : known->second.before;
  places_.emplace(now.ptr(), Place{now, first, node});
  return now;
}

/// With `again`, containers that were already visited are filled again, since each of their arrays
/// has an entry in the flat list. Otherwise they are skipped, so that cyclic containers work.
nb::object Substitution::visit(nb::handle tree, const NewArray& make, bool again) {
  if (is_array(tree.ptr())) {
    if (!array_of(tree.ptr())) return nb::borrow(tree);  // its __init__ never ran
    nb::object now = make(array_of(tree.ptr()));
    const void* node = array_of(now.ptr()).node();
    return put(std::move(now), tree, node);
  }
  bool tuple = PyTuple_Check(tree.ptr()), list = PyList_Check(tree.ptr());
  if (!tuple && !list && !PyDict_Check(tree.ptr())) return nb::borrow(tree);
  if (!tuple && !filled_.insert(tree.ptr()).second && !again) return nb::borrow(tree);
  RecursionGuard guard(" in arguments of a transformed function");
  if (tuple) return visit_tuple(tree, make, again);
  list ? visit_list(tree, make, again) : visit_dict(tree, make, again);
  return nb::borrow(tree);
}

nb::object Substitution::visit_tuple(nb::handle tuple, const NewArray& make, bool again) {
  nb::list items;
  bool same = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.ptr()); ++i) {
    nb::object item = item_of(tuple, i), now = visit(item, make, again);
    same = same && now.is(item);
    items.append(now);
  }
  return same ? nb::borrow(tuple) : put(rebuild_sequence(tuple, std::move(items)), tuple, nullptr);
}

void Substitution::visit_list(nb::handle list, const NewArray& make, bool again) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.ptr()); ++i) {
    nb::object item = item_of(list, i), now = visit(item, make, again);
    if (!now.is(item) && i < PyList_GET_SIZE(list.ptr()))
      ignore_failure(PyList_SetItem(list.ptr(), i, now.release().ptr()));
  }
}

void Substitution::visit_dict(nb::handle dict, const NewArray& make, bool again) {
  for (const auto& [key, item] : pairs_of(dict)) {
    nb::object now = visit(item, make, again);
    if (!now.is(item)) ignore_failure(PyDict_SetItem(dict.ptr(), key.ptr(), now.ptr()));
  }
}

/// The original object for `o`, after restoring its own items.
nb::object Substitution::restored(nb::handle o, int depth) {
  constexpr int kMaxDepth = 900;
  if (is_array(o.ptr())) {
    auto it = places_.find(o.ptr());
    if (it == places_.end() || it->second.node != array_of(o.ptr()).node()) return nb::borrow(o);
    return it->second.before;
  }
  bool tuple = PyTuple_Check(o.ptr()), list = PyList_Check(o.ptr());
  if (!tuple && !list && !PyDict_Check(o.ptr())) return nb::borrow(o);
  if (depth > kMaxDepth) return nb::borrow(o);
  if (tuple) return restored_tuple(o, depth);
  if (!restored_.insert(o.ptr()).second) return nb::borrow(o);
  if (list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o.ptr()); ++i) {
      nb::object item = item_of(o, i), before = restored(item, depth + 1);
      if (!before.is(item) && i < PyList_GET_SIZE(o.ptr()))
        ignore_failure(PyList_SetItem(o.ptr(), i, before.release().ptr()));
    }
    return nb::borrow(o);
  }
  nb::object pairs = nb::steal(PyDict_Items(o.ptr()));
  for (Py_ssize_t i = 0; pairs.is_valid() && i < PyList_GET_SIZE(pairs.ptr()); ++i) {
    nb::object key = item_of(item_of(pairs, i), 0), item = item_of(item_of(pairs, i), 1);
    nb::object before = restored(item, depth + 1);
    if (!before.is(item)) ignore_failure(PyDict_SetItem(o.ptr(), key.ptr(), before.ptr()));
  }
  return nb::borrow(o);
}

/// The original tuple, unless the value of an array in it was changed.
nb::object Substitution::restored_tuple(nb::handle tuple, int depth) {
  auto it = places_.find(tuple.ptr());
  nb::object before = it == places_.end() ? nb::borrow(tuple) : it->second.before;
  bool same = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.ptr()); ++i)
    same = restored(item_of(tuple, i), depth + 1).is(item_of(before, i)) && same;
  return same ? before : nb::borrow(tuple);
}

Substitution::~Substitution() {
  for (const nb::object& root : roots_) restored(root, 0);
}

}  // namespace mlx::python
