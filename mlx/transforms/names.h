// Generated names: A, B, .., Z, AA, AB, ..
#pragma once

#include <string>

namespace mlx::core {

class Letters {
 public:
  /// `count` names have been given before.
  explicit Letters(size_t count = 0) : count_(count) {}
  size_t count() const { return count_; }
  std::string next() {
    std::string name;
    for (size_t n = ++count_; n > 0; n = (n - 1) / 26)
      name.insert(name.begin(), 'A' + (n - 1) % 26);
    return name;
  }

 private:
  size_t count_ = 0;
};

}  // namespace mlx::core
