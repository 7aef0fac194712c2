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
    nb::object values = nb::steal(PyDict_Values(tree.ptr()));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.ptr()); ++i)
      each_leaf(PyList_GET_ITEM(values.ptr(), i), visit);
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
    nb::object pairs = nb::steal(PyDict_Items(tree.ptr()));
    nb::dict items;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs.ptr()); ++i) {
      PyObject* pair = PyList_GET_ITEM(pairs.ptr(), i);
      nb::object value = map_tree(PyTuple_GET_ITEM(pair, 1), fn);
      if (PyDict_SetItem(items.ptr(), PyTuple_GET_ITEM(pair, 0), value.ptr()) < 0)
        throw nb::python_error();
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
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!pair_arrays(nb::borrow(PySequence_Fast_GET_ITEM(tree.ptr(), i)),
                       nb::borrow(PySequence_Fast_GET_ITEM(given.ptr(), i)), out))
        return false;
    return true;
  }
  if (!PyDict_Check(tree.ptr()) || !PyDict_Check(given.ptr())) return false;
  if (PyDict_Size(tree.ptr()) != PyDict_Size(given.ptr())) return false;
  nb::object pairs = nb::steal(PyDict_Items(tree.ptr()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs.ptr()); ++i) {
    PyObject* pair = PyList_GET_ITEM(pairs.ptr(), i);
    nb::object found = nb::borrow(PyDict_GetItemWithError(given.ptr(), PyTuple_GET_ITEM(pair, 0)));
    if (PyErr_Occurred()) throw nb::python_error();
    if (!found.is_valid() || !pair_arrays(PyTuple_GET_ITEM(pair, 1), found, out)) return false;
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
