// The key of a call of a compiled function: everything that its trace depends on except the values
// of arrays.
#pragma once

#include <string>
#include <vector>

#include "bind.h"

namespace mlx::python {

/// Reads trees: collects their arrays, and a key for everything else. Numbers and texts are
/// compared by class and value, tuples and frozensets by their items, other objects by identity.
class TraceKey {
 public:
  explicit TraceKey(bool shapeless) : shapeless_(shapeless) {}

  void put(char tag) { text_.push_back(tag); }
  template <class T>
  void put(char tag, T v) {
    text_.push_back(tag);
    text_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  /// Adds a tree. With `state`, leaves of any class are accepted.
  void read(nb::handle tree, bool state);

  const std::string& text() const { return text_; }
  /// The key for traces that belong to the arrays' shapes.
  std::string text_with_shapes() const;
  const Arrays& arrays() const { return arrays_; }
  /// Objects that are part of the key by address: they must live as long as it is compared.
  const std::vector<nb::object>& named() const { return named_; }

 private:
  void put_object(char tag, PyObject* o);
  void put_class(PyTypeObject* t);
  void nested(const nb::object& o, bool state);
  bool read_constant(PyObject* p);
  void read_hashable(PyObject* p);
  void read_set(PyObject* set);
  void read_attributes(PyObject* instance);

  bool shapeless_;
  bool in_attributes_ = false;
  std::string text_;
  Arrays arrays_;
  std::vector<nb::object> named_;
};

}  // namespace mlx::python
