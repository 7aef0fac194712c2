// Other arrays in the caller's own containers, for the time of a call.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "bind.h"

namespace mlx::python {

/// A function that is differentiated gets the containers it is called with, so that what it writes
/// there is kept, and in them the arrays that the transformation follows. Afterwards each place
/// that still holds such an array gets back what it held: whatever happened in the function.
class Substitution {
 public:
  Substitution() = default;
  Substitution(const Substitution&) = delete;
  ~Substitution();

  /// What to pass for `tree`, whose arrays become those of `arrays` from `next` on.
  nb::object replace(nb::handle tree, const Arrays& arrays, size_t& next);
  /// What to pass for a tree that nothing is derived by: its arrays become other objects of the
  /// same value, so that an assignment such as `+=` does not change what the caller holds.
  nb::object protect(nb::handle tree);

 private:
  /// What stands in a place for the time of the call, and what stood there before.
  struct Place {
    nb::object now, before;
    const void* node;  ///< of an array: it is another one after an assignment to its value
  };
  using NewArray = std::function<nb::object(const array&)>;

  nb::object visit(nb::handle tree, const NewArray& make, bool again);
  nb::object visit_tuple(nb::handle tuple, const NewArray& make, bool again);
  void visit_list(nb::handle list, const NewArray& make, bool again);
  void visit_dict(nb::handle dict, const NewArray& make, bool again);
  nb::object put(nb::object now, nb::handle before, const void* node);

  nb::object restored(nb::handle o, int depth);
  nb::object restored_tuple(nb::handle tuple, int depth);

  std::unordered_map<PyObject*, Place> places_;
  std::unordered_set<PyObject*> filled_, restored_;
  std::vector<nb::object> roots_;
};

}  // namespace mlx::python
