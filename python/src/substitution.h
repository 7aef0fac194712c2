// Temporary replacement of arrays in the caller's containers, for the duration of a call.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "bind.h"

namespace mlx::python {

/// A differentiated function receives the caller's own containers, so that its changes to them
/// persist, with the arrays replaced by traced ones. Afterwards every item that still holds a
/// traced array is restored, also if the function raised.
class Substitution {
 public:
  Substitution() = default;
  Substitution(const Substitution&) = delete;
  ~Substitution();

  /// The argument to pass for `tree`, with its arrays replaced by those of `arrays` from `next` on.
  nb::object replace(nb::handle tree, const Arrays& arrays, size_t& next);
  /// The argument to pass for a tree that is not differentiated: its arrays become new objects with
  /// the same value, so that an in-place assignment such as `+=` does not change the caller's
  /// arrays.
  nb::object protect(nb::handle tree);

 private:
  /// The temporary and the original content of an item.
  struct Place {
    nb::object now, before;
    const void* node;  ///< for arrays: differs after an assignment to its value
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
