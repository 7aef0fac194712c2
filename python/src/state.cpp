// Traversal, snapshots and templates of captured state.
#include "state.h"

#include <unordered_map>

#include "tree.h"

namespace mlx::python {

bool is_generator_state(nb::handle o) {
  static nb::handle state =
      nb::object(nb::module_::import_("mlx.core").attr("random").attr("state")).release();
  return o.ptr() == state.ptr();
}

namespace {

StateForm::Kind state_kind(nb::handle o) {
  if (is_array(o.ptr())) return StateForm::array;
  if (PyList_Check(o.ptr())) return StateForm::list;
  if (PyTuple_Check(o.ptr())) return StateForm::tuple;
  if (PyDict_Check(o.ptr())) return StateForm::dict;
  return is_generator_state(o) ? StateForm::generator : StateForm::other;
}

void check(int status) {
  if (status < 0) throw nb::python_error();
}

/// A tuple is immutable, but the array in it can be rebound to another value.
Setter rebind(nb::handle o) {
  return [o](nb::object v) {
    if (is_array(o.ptr()) && is_array(v.ptr())) array_of(o.ptr()) = array_of(v.ptr());
  };
}

/// Calls `f(item, setter)` on the items of a container.
template <class F>
void each_item(nb::handle o, StateForm::Kind kind, F&& f) {
  if (kind == StateForm::list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o.ptr()); ++i)
      f(item_of(o, i),
        [o, i](nb::object v) { check(PyList_SetItem(o.ptr(), i, v.release().ptr())); });
  } else if (kind == StateForm::tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o.ptr()); ++i) {
      nb::object item = item_of(o, i);
      f(item, rebind(item));
    }
  } else if (kind == StateForm::dict) {
    for (const auto& [name, item] : pairs_of(o)) {
      const nb::object key = name;
      f(item, [o, key](nb::object v) { set_item(o, key, v); });
    }
  } else if (kind == StateForm::generator) {
    f(nb::object(o[0]), [o](nb::object v) { o[0] = v; });
  }
}

constexpr const char* kInState = " in captured state";

void visit(nb::handle o, const Setter& set,
           const std::function<void(nb::handle, const Setter&)>& leaf) {
  auto kind = state_kind(o);
  if (kind == StateForm::array || kind == StateForm::other) return leaf(o, set);
  RecursionGuard guard(kInState);
  each_item(o, kind, [&](nb::object item, const Setter& s) { visit(item, s, leaf); });
}

/// Containers by address, with references.
using Containers = std::unordered_map<PyObject*, nb::object>;

void collect_containers(nb::handle o, Containers& out) {
  auto kind = state_kind(o);
  if (kind == StateForm::array || kind == StateForm::other) return;
  if (!out.try_emplace(o.ptr(), nb::borrow(o)).second) return;
  RecursionGuard guard(kInState);
  each_item(o, kind, [&](nb::object item, const Setter&) { collect_containers(item, out); });
}

}  // namespace

void visit_state(nb::handle tree, const std::function<void(nb::handle, const Setter&)>& leaf) {
  visit(tree, rebind(tree), leaf);
}

StateForm StateForm::of(nb::handle tree) {
  StateForm form;
  form.kind = state_kind(tree);
  if (form.kind == array) return form;
  form.value = nb::borrow(tree);
  if (form.kind == other) return form;
  RecursionGuard guard(kInState);
  if (form.kind == dict) {
    for (auto& [key, value] : pairs_of(tree)) {
      form.keys.push_back(std::move(key));
      form.items.push_back(of(value));
    }
    form.value = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(tree.ptr())));
    return form;
  }
  each_item(tree, form.kind,
            [&](nb::object item, const Setter&) { form.items.push_back(of(item)); });
  if (form.kind != generator)
    form.value = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(tree.ptr())));
  return form;
}

nb::object StateForm::build(const Arrays& arrays, size_t& next) const {
  if (kind == array) return nb::steal(wrap(arrays.at(next++)));
  if (kind == other) return value;
  if (kind == dict) {
    nb::dict made;
    for (size_t i = 0; i < items.size(); ++i) made[keys[i]] = items[i].build(arrays, next);
    return value.ptr() == reinterpret_cast<PyObject*>(&PyDict_Type) ? nb::object(made)
                                                                    : value(made);
  }
  nb::list made;
  for (const StateForm& item : items) made.append(item.build(arrays, next));
  if (kind == list) return made;
  return has_attr(value.ptr(), "_make") ? value.attr("_make")(made) : nb::object(nb::tuple(made));
}

void StateForm::fill(nb::handle live, const Setter& set, const Arrays& arrays, size_t& next) const {
  if (kind == other) return;
  if (kind == array) return set(build(arrays, next));
  bool fits = state_kind(live) == kind;
  if (kind == tuple) fits = fits && PyTuple_GET_SIZE(live.ptr()) == Py_ssize_t(items.size());
  if (!fits) return set(build(arrays, next));
  if (kind == dict) {
    for (size_t i = 0; i < items.size(); ++i) {
      Setter put = [&](nb::object v) { set_item(live, keys[i], v); };
      PyObject* item = PyDict_GetItemWithError(live.ptr(), keys[i].ptr());
      if (item)
        items[i].fill(nb::borrow(item), put, arrays, next);
      else
        put(items[i].build(arrays, next));
    }
    return;
  }
  if (kind == list) return fill_list(live, arrays, next);
  size_t i = 0;
  each_item(live, kind,
            [&](nb::object item, const Setter& put) { items[i++].fill(item, put, arrays, next); });
}

/// Fills a list with all items at once: dropped items may run code that changes the list, which
/// then has its new content.
void StateForm::fill_list(nb::handle live, const Arrays& arrays, size_t& next) const {
  const auto n = static_cast<Py_ssize_t>(items.size());
  nb::object made = owned(PyList_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    nb::object now;
    if (i < PyList_GET_SIZE(live.ptr())) {
      now = item_of(live, i);
      const nb::object item = now;
      items[i].fill(item, [&now](nb::object v) { now = std::move(v); }, arrays, next);
    } else {
      now = items[i].build(arrays, next);
    }
    PyList_SET_ITEM(made.ptr(), i, now.release().ptr());
  }
  check(PyList_SetSlice(live.ptr(), 0, PyList_GET_SIZE(live.ptr()), made.ptr()));
}

int StateForm::traverse(visitproc visit, void* arg) const {
  Py_VISIT(value.ptr());
  for (const nb::object& key : keys) Py_VISIT(key.ptr());
  for (const StateForm& item : items)
    if (int stop = item.traverse(visit, arg)) return stop;
  return 0;
}

void StateSnapshot::add(nb::handle tree) {
  visit_state(tree, [&](nb::handle leaf, const Setter&) {
    if (is_array(leaf.ptr())) arrays_.emplace_back(nb::borrow(leaf), array_of(leaf.ptr()));
  });
  Containers found;
  collect_containers(tree, found);
  for (const auto& [o, held] : found) {
    nb::object copy;
    if (PyDict_Check(o)) {
      copy = nb::dict();
      for (const auto& [key, value] : pairs_of(nb::handle(o))) set_item(copy, key, value);
    } else {
      copy = owned(PySequence_List(o));
    }
    saved_.emplace_back(held, std::move(copy));
  }
}

void StateSnapshot::restore(nb::handle keep) const {
  Containers kept;
  if (keep.is_valid()) collect_containers(keep, kept);
  for (const auto& [o, value] : arrays_) array_of(o.ptr()) = value;
  for (const auto& [o, copy] : saved_) {
    if (kept.contains(o.ptr())) continue;
    if (PyDict_Check(o.ptr())) {
      if (PyODict_Check(o.ptr()))  // has a list of its keys beside the dict
        nb::handle(reinterpret_cast<PyObject*>(&PyODict_Type)).attr("clear")(o);
      else
        PyDict_Clear(o.ptr());
      for (const auto& [key, value] : pairs_of(copy)) set_item(o, key, value);
    } else if (PyList_Check(o.ptr())) {
      check(PyList_SetSlice(o.ptr(), 0, PyList_GET_SIZE(o.ptr()), copy.ptr()));
    } else if (is_generator_state(o)) {
      o[0] = copy[0];
    }
  }
}

}  // namespace mlx::python
