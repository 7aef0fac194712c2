// The docstrings of functions, which python/docstrings.py makes of python/docstrings/*.txt.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mlx::python {

struct Docstring {
  std::string_view name;  ///< below mlx.core: "sum", "linalg.qr"
  const char* text;
};
/// All docstrings in the order of their names.
extern const Docstring docstrings[];
extern const size_t n_docstrings;

/// The docstring of a function, or null.
inline const char* docstring_of(std::string_view name) {
  const Docstring* end = docstrings + n_docstrings;
  const Docstring* at = std::ranges::lower_bound(docstrings, end, name, {}, &Docstring::name);
  return at != end && at->name == name ? at->text : nullptr;
}

}  // namespace mlx::python
