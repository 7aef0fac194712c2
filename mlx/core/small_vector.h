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
  SmallVector(const SmallVector& o) { copy(o); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) copy(o);
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
    const auto n = static_cast<size_t>(std::distance(first, last));
    clear();
    reserve(n);
    T* to = n > N ? heap_ : data();
    for (; first != last; ++first) *to++ = static_cast<T>(*first);
    size_ = static_cast<uint32_t>(to - data());
  }
  void assign(size_t n, T value) {
    clear();
    resize(n, value);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return on_heap() ? heap_ : inline_; }
  const T* data() const { return on_heap() ? heap_ : inline_; }
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
    if (n > capacity_) [[unlikely]]
      grow(n);
  }
  void resize(size_t n, T value = T{}) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
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
  // Planning runs through thousands of branches, many of them here, and processors remember some
  // thousands of the taken ones: shapes and short lists, which are seldom on the heap, take none.
  bool on_heap() const {
    const bool heap = capacity_ > N;
    return N <= 8 ? __builtin_expect(heap, 0) : heap;
  }
  void release() {
    if (on_heap()) std::free(heap_);
  }
  [[gnu::noinline]] void grow(size_t n) {
    size_t capacity = std::max<size_t>(n, 2 * size_t{capacity_});
    T* bigger = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (!bigger) throw std::bad_alloc();
    if (size_) std::memcpy(static_cast<void*>(bigger), data(), size_ * sizeof(T));
    release();
    heap_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  [[gnu::noinline]] void copy_long(const SmallVector& o) { assign(o.begin(), o.end()); }
  void copy(const SmallVector& o) {
    if (o.on_heap() || on_heap()) [[unlikely]]
      return copy_long(o);
    size_ = o.size_;
    std::memcpy(static_cast<void*>(inline_), o.inline_,
                kWhole ? sizeof(inline_) : size_ * sizeof(T));
  }
  void take(SmallVector& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    if (o.on_heap())
      heap_ = o.heap_;
    else
      std::memcpy(static_cast<void*>(inline_), o.inline_, sizeof(inline_));
    o.size_ = 0;
    o.capacity_ = N;
  }

  /// Vectors of up to a cache line are copied as a whole, which needs no loop.
  static constexpr bool kWhole = sizeof(T) * N <= 64;

  uint32_t size_ = 0, capacity_ = N;
  union {
    T inline_[N];
    T* heap_;
  };
};

}  // namespace mlx::core
