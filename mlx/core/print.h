// Arrays as text.
#pragma once

#include <iosfwd>
#include <string>

#include "mlx/core/array.h"

namespace mlx::core {

/// How numbers print.
struct PrintOptions {
  int precision = -1;  ///< digits after the point; negative: six significant digits
};

PrintOptions print_options();
void set_printoptions(PrintOptions options);

/// "array([1, 2], dtype=int32)". Axes longer than six show their ends. Evaluates.
std::string to_string(const array& a);
std::ostream& operator<<(std::ostream& os, const array& a);
std::ostream& operator<<(std::ostream& os, const Dtype& t);

}  // namespace mlx::core
