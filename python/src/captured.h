// Arrays that a function reaches besides its arguments, and which of them it replaced.
#pragma once

#include <string>
#include <vector>

#include "bind.h"

namespace mlx::python {

/// The arrays that a function reaches through its closure, the global variables that it names, and
/// the object that it is bound to: arrays in lists, dicts, tuples and objects, by path
/// ("model.weight"), and the key of the thread's random numbers.
class Captured {
 public:
  explicit Captured(nb::handle fun);
  /// The paths of the arrays that were replaced since, except those that `outputs` contains.
  std::vector<std::string> replaced(nb::handle fun, nb::handle outputs) const;

 private:
  struct Found {
    size_t place;  ///< hash of the path
    array value;
  };
  std::vector<Found> before_;
};

}  // namespace mlx::python
