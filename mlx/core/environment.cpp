// Words and numbers of environment variables.
#include "mlx/core/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace mlx::core {

namespace {

std::vector<std::string_view> words_of(const char* variable) {
  std::vector<std::string_view> words;
  const char* value = std::getenv(variable);
  for (std::string_view rest = value ? value : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

}  // namespace

bool variable_has(const char* variable, std::string_view word) {
  const auto words = words_of(variable);
  return std::ranges::find(words, word) != words.end();
}

void check_variable(const char* variable, std::initializer_list<std::string_view> accepted) {
  for (std::string_view word : words_of(variable)) {
    if (std::ranges::find(accepted, word) != accepted.end()) continue;
    std::string text = std::string("[environment] ") + variable + "=" + std::getenv(variable) +
                       " given; accepted: ";
    for (const std::string_view& known : accepted)
      text.append(&known == accepted.begin() ? "" : ", ").append(known);
    throw std::runtime_error(text + ".");
  }
}

int64_t number_in_variable(const char* variable, int64_t otherwise) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return otherwise;
  const std::string_view text = value;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    throw std::runtime_error("[environment] " + std::string(variable) + "=" + value +
                             " given; accepted: a number from 0.");
  return number;
}

}  // namespace mlx::core
