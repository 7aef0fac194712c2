// An array of a length that is set once, with inline storage for short ones.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace mlx::core {

/// `n` elements of any type; up to `N` of them need no allocation.
template <class T, size_t N>
class InlineArray {
 public:
  explicit InlineArray(size_t n) : size_(n) {
    if (n > N)
      heap_ = std::make_unique<T[]>(n);
    else
      std::uninitialized_value_construct_n(begin(), n);
  }
  InlineArray(const InlineArray&) = delete;
  ~InlineArray() {
    if (!heap_) std::destroy_n(begin(), size_);
  }

  size_t size() const { return size_; }
  T* begin() { return heap_ ? heap_.get() : reinterpret_cast<T*>(inline_); }
  const T* begin() const { return const_cast<InlineArray*>(this)->begin(); }
  T* end() { return begin() + size_; }
  const T* end() const { return begin() + size_; }
  T& operator[](size_t i) { return begin()[i]; }
  const T& operator[](size_t i) const { return begin()[i]; }

 private:
  const size_t size_;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace mlx::core
