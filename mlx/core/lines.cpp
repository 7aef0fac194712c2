// The table of lines.
#include "mlx/core/lines.h"

#include <deque>
#include <map>
#include <mutex>

namespace mlx::core {

std::atomic<uint32_t (*)()> program_line{nullptr};

namespace {

struct Lines {
  std::mutex mutex;
  std::map<std::string, uint32_t, std::less<>> numbers;
  std::deque<std::string> texts{""};
};
Lines& lines() {
  static auto& l = *new Lines;
  return l;
}

}  // namespace

uint32_t number_of_line(const std::string& text) {
  Lines& l = lines();
  std::lock_guard lock(l.mutex);
  auto [it, fresh] = l.numbers.emplace(text, static_cast<uint32_t>(l.texts.size()));
  if (fresh) l.texts.push_back(text);
  return it->second;
}

const std::string& text_of_line(uint32_t number) {
  Lines& l = lines();
  std::lock_guard lock(l.mutex);
  return l.texts[number < l.texts.size() ? number : 0];
}

}  // namespace mlx::core
