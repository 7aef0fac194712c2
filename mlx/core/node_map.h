// What walks over graphs know of the nodes they met: a hash table in one block of memory.
#pragma once

#include <memory>
#include <utility>

#include "mlx/core/node.h"

namespace mlx::core {

/// Nodes are told apart by their addresses.
struct ByAddress {
  static size_t hash(const Node* n) { return reinterpret_cast<uintptr_t>(n) >> 5; }
  static bool same(const Node* a, const Node* b) { return a == b; }
};

/// A map from nodes that only grows. The nodes are not kept alive; references to values last until
/// something is added.
template <class T, class By = ByAddress>
class NodeMap {
 public:
  /// Takes `expected` nodes without growing.
  explicit NodeMap(size_t expected = 0) {
    while (!fits(expected)) --shift_;
  }

  size_t size() const { return size_; }
  /// The value of a node, or null.
  const T* find(const Node* n) const {
    if (!slots_) return nullptr;
    const Slot& s = slot(n);
    return s.node ? &s.value : nullptr;
  }
  bool contains(const Node* n) const { return find(n); }
  const T& at(const Node* n) const { return *find(n); }
  /// The value of the node, which is `value` where it had none, and whether it had none.
  std::pair<T&, bool> emplace(const Node* n, T value = {}) {
    if (!slots_ || !fits(size_ + 1)) grow();
    Slot& s = slot(n);
    bool fresh = !s.node;
    if (fresh) {
      s = {n, std::move(value)};
      ++size_;
    }
    return {s.value, fresh};
  }
  T& operator[](const Node* n) { return emplace(n).first; }

 private:
  struct Slot {
    const Node* node = nullptr;
    [[no_unique_address]] T value{};
  };
  size_t capacity() const { return size_t{1} << (64 - shift_); }
  bool fits(size_t n) const { return 8 * n <= 5 * capacity(); }

  Slot& slot(const Node* n) const {
    size_t at = By::hash(n) * 0x9e3779b97f4a7c15ull >> shift_;
    while (slots_[at].node && !By::same(slots_[at].node, n)) at = (at + 1) & (capacity() - 1);
    return slots_[at];
  }
  void grow() {
    size_t old = slots_ ? capacity() : 0;
    if (!fits(size_ + 1)) --shift_;
    auto before = std::exchange(slots_, std::make_unique<Slot[]>(capacity()));
    for (size_t k = 0; k < old; ++k)
      if (before[k].node) slot(before[k].node) = std::move(before[k]);
  }

  std::unique_ptr<Slot[]> slots_;
  size_t size_ = 0;
  int shift_ = 60;
};

/// The nodes met so far.
struct Met {};
using NodeSet = NodeMap<Met>;

}  // namespace mlx::core
