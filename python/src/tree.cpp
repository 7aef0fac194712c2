// Traversal of trees.
#include "tree.h"

#include <structmember.h>

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

/// The items in the order of iteration, where that gives each key once.
nb::object in_own_order(nb::handle dict) {
  const Py_ssize_t n = PyDict_GET_SIZE(dict.ptr());
  nb::dict ordered;
  Py_ssize_t read = 0;
  for (nb::handle key : dict) {
    const nb::object value = nb::borrow(PyDict_GetItemWithError(dict.ptr(), key.ptr()));
    if (PyErr_Occurred()) throw nb::python_error();
    if (!value.is_valid() || ++read > n) return nb::borrow(dict);
    ordered[key] = value;
  }
  return PyDict_GET_SIZE(ordered.ptr()) == n ? nb::object(ordered) : nb::borrow(dict);
}

/// Invalid where it was never assigned.
nb::object slot_value(nb::handle slot, PyObject* p) {
  nb::object value = nb::steal(
      Py_TYPE(slot.ptr())->tp_descr_get(slot.ptr(), p, reinterpret_cast<PyObject*>(Py_TYPE(p))));
  if (!value.is_valid()) PyErr_Clear();
  return value;
}

/// Gives an instance of the same class the attributes of another one.
void copy_attributes(nb::handle from, nb::handle to) {
  if (const nb::object space = attributes_of(from.ptr()); space.is_valid()) {
    const nb::object own = owned(PyObject_GenericGetDict(to.ptr(), nullptr));
    if (PyDict_Update(own.ptr(), space.ptr()) < 0) throw nb::python_error();
  }
  each_slot(from.ptr(), [&](nb::handle slot, const nb::object& value) {
    if (value.is_valid() &&
        Py_TYPE(slot.ptr())->tp_descr_set(slot.ptr(), to.ptr(), value.ptr()) < 0)
      throw nb::python_error();
  });
}

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
  const bool own_order = Py_TYPE(dict.ptr())->tp_iter != PyDict_Type.tp_iter;
  const nb::object ordered = own_order ? in_own_order(dict) : nb::borrow(dict);
  std::vector<std::pair<nb::object, nb::object>> out;
  out.reserve(static_cast<size_t>(PyDict_GET_SIZE(ordered.ptr())));
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(ordered.ptr(), &at, &key, &value);)
    out.emplace_back(nb::borrow(key), nb::borrow(value));
  return out;
}

void set_item(nb::handle dict, nb::handle key, nb::handle value) {
  const bool ordered = PyODict_Check(dict.ptr());
  if ((ordered ? PyODict_SetItem : PyDict_SetItem)(dict.ptr(), key.ptr(), value.ptr()) < 0)
    throw nb::python_error();
}

nb::object attributes_of(PyObject* p) {
  if (Py_TYPE(p)->tp_dictoffset == 0) return {};
  nb::object space = owned(PyObject_GenericGetDict(p, nullptr));
  return space.ptr() == p || PyDict_GET_SIZE(space.ptr()) == 0 ? nb::object() : space;
}

void each_slot(PyObject* p, const std::function<void(nb::handle, const nb::object&)>& f) {
  const nb::object types = nb::borrow(Py_TYPE(p)->tp_mro);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types.ptr()); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(types.ptr(), i));
    // A class has as many items as slots.
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || Py_SIZE(type) == 0) continue;
    for (const auto& [name, slot] : pairs_of(nb::handle(type->tp_dict)))
      if (Py_TYPE(slot.ptr()) == &PyMemberDescr_Type &&
          !(reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->flags & READONLY))
        f(slot, slot_value(slot, p));
  }
}

nb::object rebuild_sequence(nb::handle like, nb::list items) {
  if (PyList_CheckExact(like.ptr())) return items;
  if (PyTuple_CheckExact(like.ptr())) return nb::tuple(items);
  nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(like.ptr())));
  const bool named = PyObject_HasAttrString(type.ptr(), "_make");
  nb::object made = named ? type.attr("_make")(items) : type(items);
  if (Py_TYPE(made.ptr()) == Py_TYPE(like.ptr())) copy_attributes(like, made);
  return made;
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
