// Traversal of closures, global variables and objects.
#include "captured.h"

#include <unordered_set>

#include "mlx/random.h"
#include "state.h"

namespace mlx::python {

namespace {

/// Enough for large models; programs that reach more objects are not searched to the end.
constexpr size_t kMostObjects = 50'000;
constexpr int kMostDeep = 24;

class Walk {
 public:
  std::map<std::string, array> found;

  /// `path` is empty for what is not written in an expression, such as a function.
  void visit(nb::handle o, const std::string& path, int depth) {
    PyObject* p = o.ptr();
    if (is_array(p)) {
      if (array_of(p)) found.emplace(path, array_of(p));
      return;
    }
    if (depth > kMostDeep || seen_.size() > kMostObjects || !worth(p) || !seen_.insert(p).second)
      return;
    if (PyDict_Check(p)) {
      entries(o, path, depth);
    } else if (PyList_Check(p) || PyTuple_Check(p)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(p); ++i)
        visit(nb::borrow(PySequence_Fast_GET_ITEM(p, i)), path + "[" + std::to_string(i) + "]",
              depth + 1);
    } else if (PyFunction_Check(p)) {
      function(o, depth);
    }
    if (!PyFunction_Check(p)) inside(o, path, depth);
  }

 private:
  std::unordered_set<PyObject*> seen_;

  /// False for values without parts, and for modules and classes.
  static bool worth(PyObject* p) {
    return p != Py_None && !PyLong_Check(p) && !PyFloat_Check(p) && !PyUnicode_Check(p) &&
           !PyBytes_Check(p) && !PyModule_Check(p) && !PyType_Check(p) && !PyCFunction_Check(p);
  }

  void entries(nb::handle dict, const std::string& path, int depth) {
    // Modules of layers are dicts whose entries are read as attributes.
    const bool plain = PyDict_CheckExact(dict.ptr());
    nb::object pairs = nb::steal(PyDict_Items(dict.ptr()));
    for (nb::handle pair : pairs) {
      const std::string key = PyUnicode_Check(pair[0].ptr()) && !plain
                                  ? "." + nb::cast<std::string>(pair[0])
                                  : "[" + nb::cast<std::string>(nb::repr(pair[0])) + "]";
      visit(pair[1], path + key, depth + 1);
    }
  }

  /// The variables that a function names, and what it calls in turn.
  void function(nb::handle f, int depth) {
    nb::object code = f.attr("__code__");
    std::vector<std::pair<nb::object, std::string>> variables;
    nb::object cells = f.attr("__closure__"), names = code.attr("co_freevars");
    if (!cells.is_none())
      for (size_t i = 0; i < nb::len(cells); ++i)
        if (nb::object value = attribute(cells[i], "cell_contents"); value.is_valid())
          variables.emplace_back(value, nb::cast<std::string>(names[i]));
    nb::object space = f.attr("__globals__");
    for (nb::handle name : code.attr("co_names"))
      if (PyObject* value = PyDict_GetItemWithError(space.ptr(), name.ptr()))
        variables.emplace_back(nb::borrow(value), nb::cast<std::string>(name));
    // Functions last: what they reach as well has the name that it has here.
    for (const bool functions : {false, true})
      for (const auto& [value, name] : variables)
        if ((PyCallable_Check(value.ptr()) && !PyDict_Check(value.ptr())) == functions)
          visit(value, name, depth + 1);
  }

  /// What objects hold: attributes, the target of a bound method, of a partial application and of a
  /// transformed function.
  void inside(nb::handle o, const std::string& path, int depth) {
    if (PyCallable_Check(o.ptr()) && !PyDict_Check(o.ptr()))
      for (const char* part : {"__self__", "__func__", "func", "args", "keywords", "__wrapped__"})
        if (nb::object value = attribute(o, part); value.is_valid()) visit(value, "", depth + 1);
    nb::object space = attribute(o, "__dict__");
    if (!space.is_valid() || !PyDict_Check(space.ptr())) return;
    nb::object pairs = nb::steal(PyDict_Items(space.ptr()));
    for (nb::handle pair : pairs)
      if (PyUnicode_Check(pair[0].ptr()))
        visit(pair[1], path + "." + nb::cast<std::string>(pair[0]), depth + 1);
  }

  /// An attribute, without a call of the object's own __getattr__; invalid where there is none.
  static nb::object attribute(nb::handle o, const char* name) {
    nb::object value = nb::steal(PyObject_GenericGetAttr(o.ptr(), nb::str(name).ptr()));
    if (!value.is_valid()) PyErr_Clear();
    return value;
  }
};

std::map<std::string, array> arrays_around(nb::handle fun) {
  Walk walk;
  walk.visit(fun, "", 0);
  walk.found.emplace("mx.random.state", core::random::KeySequence::current().state());
  return std::move(walk.found);
}

}  // namespace

Captured::Captured(nb::handle fun) : before_(arrays_around(fun)) {}

std::vector<std::string> Captured::replaced(nb::handle fun, nb::handle outputs) const {
  std::unordered_set<uintptr_t> named;
  if (!outputs.is_none())
    visit_state(outputs, [&](nb::handle leaf, const Setter&) {
      if (is_array(leaf.ptr())) named.insert(array_of(leaf.ptr()).id());
    });
  std::vector<std::string> paths;
  for (const auto& [path, now] : arrays_around(fun))
    if (auto it = before_.find(path);
        it != before_.end() && it->second.id() != now.id() && !named.contains(now.id()))
      paths.push_back(path);
  return paths;
}

}  // namespace mlx::python
