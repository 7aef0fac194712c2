// Intrusive reference counting.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace mlx::core {

/// Base of objects counted by `Ref`. Copying an object does not copy its count.
struct RefCounted {
  mutable std::atomic<uint32_t> refs{0};
  RefCounted() = default;
  RefCounted(const RefCounted&) {}
  RefCounted& operator=(const RefCounted&) { return *this; }
  virtual ~RefCounted() = default;
};

/// Shared ownership of a RefCounted object, or null.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& o) : p_(o.p_) { retain(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& o) : p_(o.get()) {
    retain();
  }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) [[unlikely]]
      delete p_;
  }
  /// Takes over a reference that was already counted, as `release` returns it.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  /// Gives up ownership without decrementing the count.
  T* release() { return std::exchange(p_, nullptr); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_; }
  bool operator==(const Ref&) const = default;

 private:
  void retain() const {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  T* p_ = nullptr;
};

template <class T, class... A>
Ref<T> make_ref(A&&... a) {
  return Ref<T>(new T(std::forward<A>(a)...));
}

}  // namespace mlx::core
