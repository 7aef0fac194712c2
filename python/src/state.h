// The state that a compiled function captures: containers of arrays that belong to the caller and
// are updated in place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bind.h"

namespace mlx::python {

/// Replaces an object in its container.
using Setter = std::function<void(nb::object)>;

/// True for `mlx.core.random.state`, whose single item is the generator's key.
bool is_generator_state(nb::handle o);
/// Calls `leaf` on the leaves of the containers, in order, with a setter for each.
void visit_state(nb::handle tree, const std::function<void(nb::handle, const Setter&)>& leaf);

/// The structure of a tree after a trace, so that a later call can update the caller's containers
/// as the function would have.
struct StateForm {
  enum Kind { array, other, list, tuple, dict, generator } kind = other;
  nb::object value;              ///< other: the object; containers: an instance of the class
  std::vector<nb::object> keys;  ///< dicts
  std::vector<StateForm> items;

  static StateForm of(nb::handle tree);
  /// Updates `live`, which `set` replaces if it has another structure, with arrays from `next` on.
  void fill(nb::handle live, const Setter& set, const Arrays& arrays, size_t& next) const;
  /// Reports the held objects to the garbage collector.
  int traverse(visitproc visit, void* arg) const;

 private:
  nb::object build(const Arrays& arrays, size_t& next) const;
  void fill_list(nb::handle live, const Arrays& arrays, size_t& next) const;
};

/// A snapshot of the containers of a tree.
class StateSnapshot {
 public:
  /// Adds the containers of a tree.
  void add(nb::handle tree);
  /// Restores everything, except the content of lists and dicts in `keep`.
  void restore(nb::handle keep = nb::handle()) const;

 private:
  std::vector<std::pair<nb::object, nb::object>> saved_;  // container, a copy of its content
  std::vector<std::pair<nb::object, array>> arrays_;      // arrays in tuples, which are rebound
};

}  // namespace mlx::python
