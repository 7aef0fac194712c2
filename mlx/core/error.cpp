// Puts the messages of errors together.
#include "mlx/core/error.h"

#include <sstream>

namespace mlx::core::detail {

template MLX_API void write_part<std::string>(std::ostream&, const void*);
template MLX_API void write_part<int>(std::ostream&, const void*);
template MLX_API void write_part<long>(std::ostream&, const void*);
template MLX_API void write_part<unsigned long>(std::ostream&, const void*);

std::ostream& operator<<(std::ostream& out, const Part& part) {
  if (!part.write_) return out << static_cast<const char*>(part.value_);
  part.write_(out, part.value_);
  return out;
}

static void append(std::ostream& out, std::initializer_list<Part> parts) {
  for (const Part& part : parts) out << part;
}

std::string join(std::initializer_list<Part> parts) {
  std::ostringstream out;
  append(out, parts);
  return out.str();
}

std::string message(const char* op, std::initializer_list<Part> parts) {
  std::ostringstream out;
  out << '[' << op << "] ";
  append(out, parts);
  return out.str();
}

}  // namespace mlx::core::detail
