// Environment variables whose values are lists of words.
#pragma once

#include <initializer_list>
#include <string_view>

namespace mlx::core {

/// True where the comma-separated words of an environment variable include this one.
bool variable_has(const char* variable, std::string_view word);
/// Throws std::runtime_error where a word of the variable is not an accepted one.
void check_variable(const char* variable, std::initializer_list<std::string_view> accepted);

}  // namespace mlx::core
