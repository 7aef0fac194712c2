// Objects and methods of the emulated Objective-C runtime.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../objc.h"

namespace emulated {

using objc::Id;
using objc::Selector;

/// A function that a selector names. Its first arguments are the object and the selector.
using Method = void (*)();

/// A class: its methods by selector.
struct Class {
  const char* name;
  std::unordered_map<std::string_view, Method> methods;

  /// Adds a method; a lambda without captures is converted by `+`.
  template <class R, class... A>
  void add(const char* selector, R (*method)(A...)) {
    methods[selector] = reinterpret_cast<Method>(method);
  }
};

/// A class whose objects answer to the messages of all objects.
Class object_class(const char* name);

/// An object, which its references keep.
struct Object {
  explicit Object(Class& c);
  Object(const Object&) = delete;
  virtual ~Object();

  Class* const isa;
  std::atomic<int> references{1};
};

/// Leaves an object out of the count, because it lives as long as the process.
void stays(const Object& o);
/// The number of objects that are counted.
long objects_alive();
/// The counted objects by class, as "2 MTLBuffer, 1 MTLLibrary".
std::string names_of_objects();
/// The number of pools of all threads.
long pools_open();
/// Ends the process where objects outlive the program's last reference to the device and all pools.
/// Metal itself keeps a device as long as its objects: a program that counts on that leaks them.
void look_for_leaks();

void retain(Object* o);
void release(Object* o);
/// Gives a reference to the thread's innermost pool, which releases it. Returns the object.
Id autorelease(Object* o);

/// Owns one reference.
template <class T>
class Owner {
 public:
  Owner() = default;
  explicit Owner(T* shared) : object_(shared) {
    if (object_) retain(object_);
  }
  Owner(const Owner& o) : Owner(o.object_) {}
  Owner& operator=(Owner o) {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Owner() {
    if (object_) release(object_);
  }
  T* operator->() const { return object_; }
  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

/// NSString.
struct String : Object {
  String();
  explicit String(std::string s);
  std::string text;
};

/// NSError.
struct Error : Object {
  explicit Error(std::string problem);
  Owner<String> text;
};

/// The class object of a name, or null.
Id find_class(const char* name);
/// The methods of the class object of a name, which is made where there is none.
Class& class_methods(const char* name);
/// Makes an object answer to `alloc` of the class of this name.
void add_class(const char* name, Id (*alloc)(Object*, Selector));

/// The one device, made at first use.
Object* default_device();

}  // namespace emulated
