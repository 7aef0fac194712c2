// Environment variables whose values are lists of words, or numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace mlx::core {

/// True where the comma-separated words of an environment variable include this one.
bool variable_has(const char* variable, std::string_view word);
/// Throws std::runtime_error where a word of the variable is not an accepted one.
void check_variable(const char* variable, std::initializer_list<std::string_view> accepted);

/// The number in an environment variable, from 0; another one where it is not set. Throws
/// std::runtime_error for any other text.
int64_t number_in_variable(const char* variable, int64_t otherwise);

}  // namespace mlx::core
