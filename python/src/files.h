// File arguments of Python functions.
#pragma once

#include <optional>
#include <string>

#include "bind.h"

namespace mlx::python {

/// The path of a str or os.PathLike; none for other objects.
std::optional<std::string> path_of(nb::handle file);
/// The file object; throws ValueError naming `op` if it lacks the method.
nb::handle require_file(const char* op, nb::handle file, const char* method);

}  // namespace mlx::python
