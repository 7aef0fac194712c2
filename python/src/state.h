// The state that a compiled function captures: containers of arrays which belong to the caller and
// are filled in place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bind.h"

namespace mlx::python {

/// Puts another object where one was found.
using Setter = std::function<void(nb::object)>;

/// True for `mlx.core.random.state`, whose one item is the generator's key.
bool is_generator_state(nb::handle o);
/// Calls `leaf` on what is in the containers, in order, with a way to replace it.
void visit_state(nb::handle tree, const std::function<void(nb::handle, const Setter&)>& leaf);

/// The form of a tree after a trace: what each place holds, so that a later call can fill the
/// caller's containers as the function would have.
struct StateForm {
  enum Kind { array, other, list, tuple, dict, generator } kind = other;
  nb::object value;              ///< other: the object; containers: one of the class
  std::vector<nb::object> keys;  ///< dicts
  std::vector<StateForm> items;

  static StateForm of(nb::handle tree);
  /// Fills `live`, which `set` replaces where it has another form, with arrays from `next` on.
  void fill(nb::handle live, const Setter& set, const Arrays& arrays, size_t& next) const;
  /// Shows the garbage collector what it holds.
  int traverse(visitproc visit, void* arg) const;

 private:
  nb::object build(const Arrays& arrays, size_t& next) const;
};

/// What the containers of a tree held when this was made.
class StateSnapshot {
 public:
  /// Adds the containers of a tree.
  void add(nb::handle tree);
  /// Puts everything back, but for what lists and dicts in `keep` hold.
  void restore(nb::handle keep = nb::handle()) const;

 private:
  std::vector<std::pair<nb::object, nb::object>> saved_;  // container, a copy of what it held
  std::vector<std::pair<nb::object, array>> arrays_;      // arrays in tuples, which are rebound
};

}  // namespace mlx::python
