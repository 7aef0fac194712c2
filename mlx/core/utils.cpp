// Functions of mlx/utils.h.
#include "mlx/utils.h"

#include <cstdlib>
#include <thread>

#include "mlx/core/error.h"

namespace mlx::core {

namespace {
const std::thread::id main_thread = std::this_thread::get_id();
}  // namespace

bool is_main_thread() { return std::this_thread::get_id() == main_thread; }

std::string get_var(const char* name, const char* default_value) {
  const char* value = std::getenv(name);
  return value ? value : default_value;
}

int get_var(const char* name, int default_value) {
  const char* value = std::getenv(name);
  if (!value) return default_value;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  if (end == value || *end != '\0')
    fail<ValueError>("get_var", name, "='", value, "'; an integer is accepted");
  return static_cast<int>(number);
}

}  // namespace mlx::core
