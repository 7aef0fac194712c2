// Messages to Objective-C objects, without an Objective-C compiler, headers, or libraries at link
// time.
#pragma once

#include <cstddef>

namespace objc {

/// An object, or null.
using Id = void*;
/// The name of a method; a runtime has one for each text.
using Selector = void*;

/// Entry points of an Objective-C runtime and of the Metal framework.
struct Runtime {
  void (*send)() = nullptr;                     ///< objc_msgSend, called as the method's own type
  Selector (*selector)(const char*) = nullptr;  ///< sel_registerName
  Id (*find_class)(const char*) = nullptr;      ///< objc_getClass
  void* (*push_pool)() = nullptr;               ///< objc_autoreleasePoolPush
  void (*pop_pool)(void*) = nullptr;            ///< objc_autoreleasePoolPop
  Id (*default_device)() = nullptr;             ///< MTLCreateSystemDefaultDevice
};

/// The runtime of this system, or the one in the library that the environment variable
/// MLX_METAL_RUNTIME names. Opened by the first call; null where there is none.
const Runtime* runtime();

/// The text of a selector as a template argument.
template <size_t N>
struct Name {
  char text[N];
  consteval Name(const char (&name)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

/// Sends the message `kName` to `self` and returns its result. The types of the arguments and of
/// the result must be those of the method: nothing checks or converts them. A message to null
/// returns zero. Requires a runtime.
///
///     auto length = objc::send<unsigned long, "length">(buffer);
template <class Result, Name kName, class... Arguments>
Result send(Id self, Arguments... arguments) {
  static const Selector selector = runtime()->selector(kName.text);
  using Method = Result (*)(Id, Selector, Arguments...);
  return reinterpret_cast<Method>(runtime()->send)(self, selector, arguments...);
}

/// Releases, at its end, the objects that this thread got without owning them.
class Pool {
 public:
  Pool() : pool_(runtime()->push_pool()) {}
  Pool(const Pool&) = delete;
  ~Pool() { runtime()->pop_pool(pool_); }

 private:
  void* const pool_;
};

/// Owns one reference to an object.
class Object {
 public:
  Object() = default;
  /// Takes over a reference that the caller owns: the result of `new…`, `alloc`, `copy`.
  explicit Object(Id owned) : id_(owned) {}
  Object(Object&& other) noexcept : id_(other.id_) { other.id_ = nullptr; }
  Object& operator=(Object&& other) noexcept {
    Id const mine = id_;
    id_ = other.id_;
    other.id_ = mine;
    return *this;
  }
  ~Object() {
    if (id_) send<void, "release">(id_);
  }

  Id id() const { return id_; }
  explicit operator bool() const { return id_ != nullptr; }

 private:
  Id id_ = nullptr;
};

/// A reference of one's own to an object that a pool will release.
template <class T>
T retained(Id id) {
  return T(send<Id, "retain">(id));
}

}  // namespace objc
