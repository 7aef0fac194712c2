// Puts the messages of errors together.
#include "mlx/core/error.h"

#include <sstream>

namespace mlx::core::detail {

template MLX_API void write_part<std::string>(std::ostream&, const void*);
template MLX_API void write_part<int>(std::ostream&, const void*);
template MLX_API void write_part<long>(std::ostream&, const void*);
template MLX_API void write_part<unsigned long>(std::ostream&, const void*);

/// Texts and numbers without a stream, which takes far longer to make: names of kernels are joined
/// too.
void Part::append_to(std::string& out) const {
  if (!write_) {
    out += static_cast<const char*>(value_);
  } else if (write_ == &write_part<std::string>) {
    out += *static_cast<const std::string*>(value_);
  } else if (write_ == &write_part<int>) {
    out += std::to_string(*static_cast<const int*>(value_));
  } else if (write_ == &write_part<long>) {
    out += std::to_string(*static_cast<const long*>(value_));
  } else if (write_ == &write_part<unsigned long>) {
    out += std::to_string(*static_cast<const unsigned long*>(value_));
  } else {
    std::ostringstream stream;
    write_(stream, value_);
    out += stream.view();
  }
}

std::string join(std::initializer_list<Part> parts) {
  std::string out;
  for (const Part& part : parts) part.append_to(out);
  return out;
}

std::string message(const char* op, std::initializer_list<Part> parts) {
  return "[" + std::string(op) + "] " + join(parts);
}

}  // namespace mlx::core::detail
