// Traversal of closures, global variables and objects. It runs at each first trace, so it makes no
// text and runs no code of the program: the values of properties are left out.
#include "captured.h"

#include <array>
#include <functional>
#include <unordered_map>

#include "flat_set.h"
#include "function.h"
#include "mlx/random.h"
#include "state.h"

namespace mlx::python {

namespace {

/// Enough for large models; programs that reach more objects are not searched to the end.
constexpr size_t kMostObjects = 50'000;
constexpr int kMostDeep = 24;

std::string text_of_key(PyObject* key) {
  try {
    return repr_of(key);
  } catch (nb::python_error&) {
    return "...";
  }
}

/// A step of a path such as model.layers[2]["weight"].
struct Place {
  enum Kind { start, variable, attribute, entry, element };
  const Place* within = nullptr;
  Kind kind = start;
  PyObject* key = nullptr;
  Py_ssize_t index = 0;
  size_t hash = 0;
  int depth = 0;

  Place in(Kind kind, PyObject* key, Py_ssize_t index = 0) const {
    // Equal texts are one key in most dicts; other keys are themselves.
    const size_t name =
        key && PyUnicode_Check(key) ? PyObject_Hash(key) : reinterpret_cast<uintptr_t>(key);
    const size_t before = kind == variable ? 0 : hash;
    return {
        this,     kind, key, index, (before ^ name ^ (index + kind)) * 0x9e3779b97f4a7c15ull + 1,
        depth + 1};
  }
  std::string text() const {
    switch (kind) {
      case variable:
        return text_of(key);
      case attribute:
        return within->text() + "." + text_of(key);
      case entry:
        return within->text() + "[" + text_of_key(key) + "]";
      case element:
        return within->text() + "[" + std::to_string(index) + "]";
      default:
        return "";
    }
  }
};

/// Attributes of callable objects that lead to the functions and arguments within them.
const std::array<nb::object, 5>& links() {
  static const auto& names =
      *new std::array<nb::object, 5>{nb::str("__self__"), nb::str("func"), nb::str("args"),
                                     nb::str("keywords"), nb::str("__wrapped__")};
  return names;
}

/// The names of the variables in a function's closure.
nb::object free_variables(const nb::object& code) {
  static const nb::handle attribute = nb::str("co_freevars").release();
  return code.attr(attribute);
}

/// Bit i: objects of the type have link i, and reading it runs no code of the program.
unsigned links_of(PyTypeObject* type) {
  static auto& known = *new std::unordered_map<PyTypeObject*, unsigned>;
  auto [it, is_new] = known.try_emplace(type, 0);
  if (!is_new) return it->second;
  for (size_t i = 0; i < links().size(); ++i) {
    nb::object found =
        nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), links()[i].ptr()));
    if (!found.is_valid()) PyErr_Clear();
    if (found.is_valid() && (Py_TYPE(found.ptr()) == &PyMemberDescr_Type ||
                             Py_TYPE(found.ptr()) == &PyGetSetDescr_Type))
      it->second |= 1u << i;
  }
  return it->second;
}

class Walk {
 public:
  using Found = std::function<void(const array&, const Place&)>;
  /// `found` is called for the first array at each place.
  explicit Walk(Found found) : found_(std::move(found)) {}

  void run(PyObject* fun) {
    static const nb::handle generator = nb::str("mx.random.state").release();
    const Place start;
    visit(fun, start);
    add(core::random::KeySequence::current().state(), start.in(Place::variable, generator.ptr()));
  }

 private:
  Found found_;
  FlatSet seen_, places_;

  void add(const array& a, const Place& at) {
    if (places_.insert(at.hash)) found_(a, at);
  }

  void visit(PyObject* p, const Place& at) {
    if (is_array(p)) {
      if (array_of(p)) add(array_of(p), at);
      return;
    }
    if (at.depth > kMostDeep || seen_.size() > kMostObjects || !has_parts(p) ||
        !seen_.insert(reinterpret_cast<uintptr_t>(p)))
      return;
    if (PyFunction_Check(p)) return function(p, at);
    if (PyDict_Check(p)) {
      entries(p, at, PyDict_CheckExact(p) ? Place::entry : Place::attribute);
    } else if (PyList_Check(p) || PyTuple_Check(p)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(p); ++i)
        visit(item_of(p, i).ptr(), at.in(Place::element, nullptr, i));
    }
    inside(p, at);
  }

  /// False for values without parts, and for modules, classes and functions of the engine.
  static bool has_parts(PyObject* p) {
    return Py_TYPE(p) != function_type() && p != Py_None && !PyLong_Check(p) && !PyFloat_Check(p) &&
           !PyUnicode_Check(p) && !PyBytes_Check(p) && !PyModule_Check(p) && !PyType_Check(p) &&
           !PyCFunction_Check(p);
  }

  /// Modules of layers are dicts, too, whose entries are read as attributes.
  void entries(PyObject* dict, const Place& at, Place::Kind kind) {
    PyObject *key, *value;
    Py_ssize_t i = 0;
    while (PyDict_Next(dict, &i, &key, &value)) {
      // Metaclasses may have code that changes the dict; it stays safe to read.
      const nb::object own_key = nb::borrow(key), own_value = nb::borrow(value);
      visit(value, at.in(PyUnicode_Check(key) ? kind : Place::entry, key));
    }
  }

  /// The variables that a function names, and what it calls in turn.
  void function(PyObject* f, const Place& at) {
    nb::object code = nb::borrow(PyFunction_GetCode(f));
    std::vector<std::pair<nb::object, nb::object>> variables;
    if (PyObject* cells = PyFunction_GetClosure(f)) {
      const nb::object names = free_variables(code);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells); ++i) {
        nb::object value = nb::steal(PyCell_Get(PyTuple_GET_ITEM(cells, i)));
        if (value.is_valid()) variables.emplace_back(std::move(value), item_of(names, i));
      }
    }
    PyObject* names = reinterpret_cast<PyCodeObject*>(code.ptr())->co_names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      nb::object name = item_of(names, i);
      if (PyObject* value = PyDict_GetItemWithError(PyFunction_GetGlobals(f), name.ptr()))
        variables.emplace_back(nb::borrow(value), std::move(name));
    }
    // Functions last: arrays that they reach too have the names that they have here.
    for (const bool functions : {false, true})
      for (const auto& [value, name] : variables)
        if ((PyCallable_Check(value.ptr()) && !PyDict_Check(value.ptr())) == functions)
          visit(value.ptr(), at.in(Place::variable, name.ptr()));
  }

  /// The content of objects: attributes, the target of a bound method, of a partial application and
  /// of a transformed function.
  void inside(PyObject* p, const Place& at) {
    if (PyMethod_Check(p)) {
      visit(PyMethod_GET_FUNCTION(p), at.in(Place::start, nullptr, 0));
      return visit(PyMethod_GET_SELF(p), at.in(Place::start, nullptr, 1));
    }
    if (PyCallable_Check(p) && !PyDict_Check(p)) {
      const unsigned has = links_of(Py_TYPE(p));
      for (size_t i = 0; i < links().size(); ++i)
        if (has >> i & 1) {
          nb::object value = nb::steal(PyObject_GenericGetAttr(p, links()[i].ptr()));
          if (!value.is_valid()) PyErr_Clear();
          if (value.is_valid()) visit(value.ptr(), at.in(Place::start, nullptr, 2 + i));
        }
    }
    if (Py_TYPE(p)->tp_dictoffset == 0) return;
    nb::object space = nb::steal(PyObject_GenericGetDict(p, nullptr));
    if (!space.is_valid()) return PyErr_Clear();
    entries(space.ptr(), at, Place::attribute);
  }
};

}  // namespace

Captured::Captured(nb::handle fun) {
  Walk([&](const array& a, const Place& at) { before_.push_back({at.hash, a}); }).run(fun.ptr());
}

std::vector<std::string> Captured::replaced(nb::handle fun, nb::handle outputs) const {
  FlatSet named;
  if (!outputs.is_none())
    visit_state(outputs, [&](nb::handle leaf, const Setter&) {
      if (is_array(leaf.ptr())) named.insert(array_of(leaf.ptr()).id());
    });
  // Places come in the order of the first walk unless the function changed containers.
  size_t next = 0;
  std::unordered_map<size_t, const array*> by_place;
  auto value_at = [&](size_t place) -> const array* {
    if (next < before_.size() && before_[next].place == place) return &before_[next++].value;
    if (by_place.empty())
      for (const Found& f : before_) by_place.emplace(f.place, &f.value);
    auto it = by_place.find(place);
    return it == by_place.end() ? nullptr : it->second;
  };
  std::vector<std::string> paths;
  Walk([&](const array& now, const Place& at) {
    const array* before = value_at(at.hash);
    if (before && before->id() != now.id() && !named.contains(now.id())) paths.push_back(at.text());
  }).run(fun.ptr());
  return paths;
}

}  // namespace mlx::python
