// A vector of trivially copyable elements with inline storage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace mlx::core {

/// Like std::vector; the first `N` elements need no allocation.
template <class T, int N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using size_type = size_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<T*>;
  using const_reverse_iterator = std::reverse_iterator<const T*>;

  SmallVector() = default;
  explicit SmallVector(size_t n, T value = T{}) { resize(n, value); }
  SmallVector(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
  template <std::input_iterator It>
  SmallVector(It first, It last) {
    assign(first, last);
  }
  SmallVector(const std::vector<T>& v) { assign(v.begin(), v.end()); }
  SmallVector(std::span<const T> v) { assign(v.begin(), v.end()); }
  SmallVector(const SmallVector& o) { assign(o.begin(), o.end()); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  template <class It>
  void assign(It first, It last) {
    clear();
    reserve(std::distance(first, last));
    T* to = data();
    for (; first != last; ++first) *to++ = static_cast<T>(*first);
    size_ = static_cast<uint32_t>(to - data());
  }
  void assign(size_t n, T value) {
    clear();
    resize(n, value);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? heap_ : inline_; }
  const T* data() const { return capacity_ > N ? heap_ : inline_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() { return reverse_iterator(end()); }
  auto rend() { return reverse_iterator(begin()); }
  auto rbegin() const { return const_reverse_iterator(end()); }
  auto rend() const { return const_reverse_iterator(begin()); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T& front() { return *data(); }
  const T& front() const { return *data(); }

  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    size_t capacity = std::max<size_t>(n, 2 * size_t{capacity_});
    T* bigger = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (!bigger) throw std::bad_alloc();
    if (size_) std::memcpy(static_cast<void*>(bigger), data(), size_ * sizeof(T));
    if (capacity_ > N) std::free(heap_);
    heap_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void resize(size_t n, T value = T{}) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(size_ + 1);
    data()[size_++] = value;
  }
  template <class... A>
  void emplace_back(A&&... a) {
    push_back(T{std::forward<A>(a)...});
  }
  void pop_back() { --size_; }
  iterator insert(const_iterator at, T value) {
    size_t i = at - begin();
    push_back(value);
    std::rotate(begin() + i, end() - 1, end());
    return begin() + i;
  }
  template <class It>
  iterator insert(const_iterator at, It first, It last) {
    size_t i = at - begin(), old = size_;
    for (; first != last; ++first) push_back(static_cast<T>(*first));
    std::rotate(begin() + i, begin() + old, end());
    return begin() + i;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    size_t i = first - begin();
    std::copy(last, static_cast<const_iterator>(end()), begin() + i);
    size_ -= static_cast<uint32_t>(last - first);
    return begin() + i;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }
  friend bool operator!=(const SmallVector& a, const SmallVector& b) { return !(a == b); }

 private:
  void release() {
    if (capacity_ > N) std::free(heap_);
  }
  void take(SmallVector& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    if (o.capacity_ > N) {
      heap_ = o.heap_;
    } else {
      std::memcpy(static_cast<void*>(inline_), o.inline_, sizeof(inline_));
    }
    o.size_ = 0;
    o.capacity_ = N;
  }

  uint32_t size_ = 0, capacity_ = N;
  union {
    T inline_[N];
    T* heap_;
  };
};

}  // namespace mlx::core
