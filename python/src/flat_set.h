// Open-addressing set of numbers, without memory while it is small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlx::python {

/// Addresses or hashes; 0 is none. For sets that mostly hold a few numbers and rarely thousands:
/// the first ones take no memory from the heap.
class FlatSet {
 public:
  size_t size() const { return size_; }
  bool contains(uintptr_t number) { return find(number) == number; }

  /// True if the number was not in the set.
  bool insert(uintptr_t number) {
    if (4 * size_ >= 3 * slots()) grow();
    uintptr_t& slot = find(number);
    if (slot == number) return false;
    slot = number;
    ++size_;
    return true;
  }

 private:
  size_t slots() const { return many_.empty() ? few_.size() : many_.size(); }

  /// The slot that holds the number, or the empty one for it.
  uintptr_t& find(uintptr_t number) {
    uintptr_t* first = many_.empty() ? few_.data() : many_.data();
    const size_t mask = slots() - 1;
    size_t i = (number * 0x9e3779b97f4a7c15ull) >> 32 & mask;
    while (first[i] != 0 && first[i] != number) i = (i + 1) & mask;
    return first[i];
  }

  void grow() {
    std::vector<uintptr_t> before = many_;
    if (before.empty()) before.assign(few_.begin(), few_.end());
    many_.assign(4 * before.size(), 0);
    for (uintptr_t number : before)
      if (number != 0) find(number) = number;
  }

  std::array<uintptr_t, 16> few_{};
  std::vector<uintptr_t> many_;
  size_t size_ = 0;
};

}  // namespace mlx::python
