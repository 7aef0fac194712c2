// Formatting of arrays as text.
#pragma once

#include <iosfwd>
#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Formatting options for numbers.
struct PrintOptions {
  int precision = -1;  ///< digits after the point; negative: six significant digits
};

/// How elements are written as text.
struct MLX_API PrintFormatter {
  PrintOptions format_options;
  bool capitalize_bool = false;  ///< "True" instead of "true"
  /// Writes an element; T is bool, an integer, a floating or a complex type of elements.
  template <class T>
  void print(std::ostream& os, T v) const;
};
/// The formatter of arrays as text, whose members a program may set.
MLX_API PrintFormatter& get_global_formatter();

/// The options of the formatter of arrays, as a copy.
MLX_API PrintOptions print_options();
MLX_API void set_printoptions(PrintOptions options);

/// "array([1, 2], dtype=int32)". Axes longer than six elements are shortened. Evaluates.
MLX_API std::string to_string(const array& a);
/// The same as Python writes it: "True" for true.
MLX_API std::string to_python_string(const array& a);
MLX_API std::ostream& operator<<(std::ostream& os, const array& a);
MLX_API std::ostream& operator<<(std::ostream& os, const Dtype& t);

}  // namespace mlx::core
