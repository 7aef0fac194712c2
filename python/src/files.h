// What Python gives as a file.
#pragma once

#include <optional>
#include <string>

#include "bind.h"

namespace mlx::python {

/// The path of a str or os.PathLike; nothing for other objects.
std::optional<std::string> path_of(nb::handle file);
/// The file object; throws ValueError naming `op` where it has no such method.
nb::handle require_file(const char* op, nb::handle file, const char* method);

}  // namespace mlx::python
