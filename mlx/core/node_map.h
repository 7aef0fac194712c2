// Open-addressing hash map keyed by node, for graph traversals.
#pragma once

#include <memory>
#include <utility>

#include "mlx/core/node.h"

namespace mlx::core {

/// Compares nodes by identity.
struct ByAddress {
  static size_t hash(const Node* n) { return reinterpret_cast<uintptr_t>(n) >> 5; }
  static bool same(const Node* a, const Node* b) { return a == b; }
};

/// An insert-only map keyed by node. It does not keep the nodes alive. References to values stay
/// valid until the next insertion.
template <class T, class By = ByAddress>
class NodeMap {
 public:
  /// Reserves space for `expected` nodes.
  explicit NodeMap(size_t expected = 0) {
    while (!fits(expected)) --shift_;
  }

  size_t size() const { return size_; }
  /// The value of a node, or null if it has none.
  const T* find(const Node* n) const {
    if (!buckets_) return nullptr;
    const Bucket& s = bucket(n);
    return s.node ? &s.value : nullptr;
  }
  bool contains(const Node* n) const { return find(n); }
  const T& at(const Node* n) const { return *find(n); }
  /// Inserts `value` unless the node has a value. Returns the node's value, and whether it was
  /// inserted.
  std::pair<T&, bool> emplace(const Node* n, T value = {}) {
    if (!buckets_ || !fits(size_ + 1)) grow();
    Bucket& s = bucket(n);
    bool fresh = !s.node;
    if (fresh) {
      s = {n, std::move(value)};
      ++size_;
    }
    return {s.value, fresh};
  }
  T& operator[](const Node* n) { return emplace(n).first; }

 private:
  struct Bucket {
    const Node* node = nullptr;
    [[no_unique_address]] T value{};
  };
  size_t capacity() const { return size_t{1} << (64 - shift_); }
  bool fits(size_t n) const { return 8 * n <= 5 * capacity(); }

  Bucket& bucket(const Node* n) const {
    size_t at = By::hash(n) * 0x9e3779b97f4a7c15ull >> shift_;
    while (buckets_[at].node && !By::same(buckets_[at].node, n)) at = (at + 1) & (capacity() - 1);
    return buckets_[at];
  }
  void grow() {
    const size_t old = buckets_ ? capacity() : 0;
    if (!fits(size_ + 1)) shift_ -= 2;  // fourfold: to insert again takes longer than to clear
    auto before = std::exchange(buckets_, std::make_unique<Bucket[]>(capacity()));
    for (size_t k = 0; k < old; ++k)
      if (before[k].node) bucket(before[k].node) = std::move(before[k]);
  }

  std::unique_ptr<Bucket[]> buckets_;
  size_t size_ = 0;
  int shift_ = 60;
};

/// Value type of a set.
struct Visited {};
using NodeSet = NodeMap<Visited>;

}  // namespace mlx::core
