// Traversal of trees.
#include "tree.h"

#include "convert.h"

namespace mlx::python {

namespace {

constexpr int kMaxDepth = 900;

struct DepthGuard {
  int& depth;
  explicit DepthGuard(int& d) : depth(d) {
    if (++depth > kMaxDepth) {
      --depth;
      throw ValueError("[tree] a tree nested over 900 deep; it may contain itself");
    }
  }
  ~DepthGuard() { --depth; }
};
thread_local int tree_depth = 0;

nb::object rebuild_dict(nb::handle like, nb::dict items) {
  if (PyDict_CheckExact(like.ptr())) return items;
  // A copy preserves attributes of the subclass besides its items (the factory of a defaultdict,
  // …).
  nb::object copy = nb::module_::import_("copy").attr("copy")(like);
  if (PyDict_Update(copy.ptr(), items.ptr()) < 0) throw nb::python_error();
  return copy;
}

}  // namespace

std::vector<std::pair<nb::object, nb::object>> pairs_of(nb::handle dict) {
  std::vector<std::pair<nb::object, nb::object>> out;
  out.reserve(static_cast<size_t>(PyDict_GET_SIZE(dict.ptr())));
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value);)
    out.emplace_back(nb::borrow(key), nb::borrow(value));
  return out;
}

nb::object rebuild_sequence(nb::handle like, nb::list items) {
  if (PyList_CheckExact(like.ptr())) return items;
  if (PyTuple_CheckExact(like.ptr())) return nb::tuple(items);
  nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(like.ptr())));
  if (PyObject_HasAttrString(type.ptr(), "_make")) return type.attr("_make")(items);
  return type(items);
}

void each_leaf(nb::handle tree, const std::function<void(nb::handle)>& visit) {
  if (PyList_Check(tree.ptr()) || PyTuple_Check(tree.ptr())) {
    DepthGuard guard(tree_depth);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree.ptr()); ++i)
      each_leaf(nb::borrow(PySequence_Fast_GET_ITEM(tree.ptr(), i)), visit);
  } else if (PyDict_Check(tree.ptr())) {
    DepthGuard guard(tree_depth);
    for (const auto& [key, value] : pairs_of(tree)) each_leaf(value, visit);
  } else {
    visit(tree);
  }
}

nb::object map_tree(nb::handle tree, const std::function<nb::object(nb::handle)>& fn) {
  if (PyList_Check(tree.ptr()) || PyTuple_Check(tree.ptr())) {
    DepthGuard guard(tree_depth);
    nb::list items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree.ptr()); ++i)
      items.append(map_tree(nb::borrow(PySequence_Fast_GET_ITEM(tree.ptr(), i)), fn));
    return rebuild_sequence(tree, std::move(items));
  }
  if (PyDict_Check(tree.ptr())) {
    DepthGuard guard(tree_depth);
    nb::dict items;
    for (const auto& [key, value] : pairs_of(tree)) {
      const nb::object mapped = map_tree(value, fn);
      if (PyDict_SetItem(items.ptr(), key.ptr(), mapped.ptr()) < 0) throw nb::python_error();
    }
    return rebuild_dict(tree, std::move(items));
  }
  return fn(tree);
}

void collect_arrays(nb::handle tree, Arrays& out) {
  if (is_array(tree.ptr())) {
    out.push_back(to_array(tree.ptr()));
    return;
  }
  each_leaf(tree, [&](nb::handle leaf) {
    if (is_array(leaf.ptr())) out.push_back(to_array(leaf.ptr()));
  });
}

Arrays flatten(nb::handle tree, const char* op) {
  Arrays out;
  each_leaf(tree, [&](nb::handle leaf) {
    if (!is_array(leaf.ptr()))
      fail<ValueError>(op, "a leaf of type ", class_name(leaf), "; trees of arrays are accepted");
    out.push_back(to_array(leaf.ptr()));
  });
  return out;
}

bool pair_arrays(nb::handle tree, nb::handle given, Arrays& out) {
  auto is_sequence = [](nb::handle h) { return PyList_Check(h.ptr()) || PyTuple_Check(h.ptr()); };
  if (given.is_none()) {
    each_leaf(tree, [&](nb::handle leaf) {
      if (is_array(leaf.ptr())) out.emplace_back();
    });
    return true;
  }
  if (is_array(tree.ptr())) {
    if (!is_array(given.ptr())) return false;
    out.push_back(checked(given.ptr()));
    return true;
  }
  DepthGuard guard(tree_depth);
  if (is_sequence(tree) && is_sequence(given)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(tree.ptr());
    if (PySequence_Fast_GET_SIZE(given.ptr()) != n) return false;
    // Keys of dicts within compare themselves by code of the program, which may change the lists.
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (PySequence_Fast_GET_SIZE(tree.ptr()) != n || PySequence_Fast_GET_SIZE(given.ptr()) != n)
        return false;
      if (!pair_arrays(item_of(tree, i), item_of(given, i), out)) return false;
    }
    return true;
  }
  if (!PyDict_Check(tree.ptr()) || !PyDict_Check(given.ptr())) return false;
  if (PyDict_Size(tree.ptr()) != PyDict_Size(given.ptr())) return false;
  for (const auto& [key, value] : pairs_of(tree)) {
    const nb::object found = nb::borrow(PyDict_GetItemWithError(given.ptr(), key.ptr()));
    if (PyErr_Occurred()) throw nb::python_error();
    if (!found.is_valid() || !pair_arrays(value, found, out)) return false;
  }
  return true;
}

nb::object unflatten(nb::handle tree, const Arrays& arrays, size_t first) {
  return map_tree(tree, [&](nb::handle leaf) -> nb::object {
    if (!is_array(leaf.ptr())) return nb::borrow(leaf);
    return nb::steal(wrap(arrays.at(first++)));
  });
}

}  // namespace mlx::python
