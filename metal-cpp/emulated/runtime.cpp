// The Objective-C runtime under its public names: lookup of methods, references, pools, strings.
#include "runtime.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

// Looks a method up and jumps to it, with all registers of arguments as they were.
#if defined(__x86_64__)
__asm__(R"(
.text
.globl objc_msgSend
.type objc_msgSend,@function
objc_msgSend:
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $8, %rsp
  call emulated_lookup
  addq $8, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  jmp *%rax
.size objc_msgSend,.-objc_msgSend
)");
#elif defined(__aarch64__)
__asm__(R"(
.text
.globl objc_msgSend
.type objc_msgSend,%function
objc_msgSend:
  stp x29, x30, [sp, #-96]!
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  bl emulated_lookup
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp x29, x30, [sp], #96
  br x16
.size objc_msgSend,.-objc_msgSend
)");
#else
#error "Messages of the emulated runtime are written for x86-64 and 64-bit Arm."
#endif

namespace emulated {

namespace {

/// The counted objects.
struct Alive {
  std::mutex mutex;
  std::unordered_set<const Object*> objects;
};
Alive& alive() {
  static Alive& made = *new Alive;
  return made;
}

}  // namespace

Object::Object(Class& c) : isa(&c) {
  std::lock_guard lock(alive().mutex);
  alive().objects.insert(this);
}
Object::~Object() { stays(*this); }

void stays(const Object& o) {
  std::lock_guard lock(alive().mutex);
  alive().objects.erase(&o);
}
long objects_alive() {
  std::lock_guard lock(alive().mutex);
  return static_cast<long>(alive().objects.size());
}
std::string names_of_objects() {
  std::lock_guard lock(alive().mutex);
  std::map<std::string, long> counts;
  for (const Object* o : alive().objects) ++counts[o->isa->name];
  std::string names;
  for (const auto& [name, count] : counts)
    names += (names.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return names;
}

void retain(Object* o) { ++o->references; }
void release(Object* o) {
  if (--o->references == 0) delete o;
}

Class object_class(const char* name) {
  Class c{name, {}};
  c.add("retain", +[](Object* o, Selector) -> Id { return retain(o), o; });
  c.add("release", +[](Object* o, Selector) { release(o); });
  c.add("init", +[](Object* o, Selector) -> Id { return o; });
  return c;
}

namespace {

/// The pools that this thread is in. There while it is in one: also at the thread's end, when
/// objects with destructors are gone.
thread_local std::vector<std::vector<Object*>>* pools = nullptr;
std::atomic<long> open_pools = 0;

Class& string_class() {
  static Class& c = *new Class([] {
    Class made = object_class("NSString");
    made.add("UTF8String", +[](String* s, Selector) { return s->text.c_str(); });
    made.add("length", +[](String* s, Selector) -> unsigned long { return s->text.size(); });
    made.add(
        "initWithBytes:length:encoding:",
        +[](String* s, Selector, const char* data, unsigned long n, unsigned long) -> Id {
          s->text.assign(data, n);
          return s;
        });
    return made;
  }());
  return c;
}

Class& error_class() {
  static Class& c = *new Class([] {
    Class made = object_class("NSError");
    made.add("localizedDescription", +[](Error* e, Selector) -> Id { return e->text.get(); });
    return made;
  }());
  return c;
}

/// A class as an object, which lives as long as the process.
struct ClassObject {
  Class methods;
  Object object{methods};
};

std::unordered_map<std::string_view, ClassObject*>& classes() {
  static auto& all = *new std::unordered_map<std::string_view, ClassObject*>;
  return all;
}

}  // namespace

long pools_open() { return open_pools; }

Id autorelease(Object* o) {
  if (!pools) {
    std::fprintf(stderr, "[metal] an object of %s without a pool on this thread leaks\n",
                 o->isa->name);
    return o;
  }
  pools->back().push_back(o);
  return o;
}

String::String() : String(std::string()) {}
String::String(std::string s) : Object(string_class()), text(std::move(s)) {}

Error::Error(std::string problem) : Object(error_class()) {
  auto* s = new String(std::move(problem));
  text = Owner<String>(s);
  release(s);
}

Class& class_methods(const char* name) {
  ClassObject*& c = classes()[name];
  if (!c) {
    c = new ClassObject{{name, {}}};
    stays(c->object);
  }
  return c->methods;
}
void add_class(const char* name, Id (*alloc)(Object*, Selector)) {
  class_methods(name).add("alloc", alloc);
}

Id find_class(const char* name) {
  static std::once_flag once;
  std::call_once(once,
                 [] { add_class("NSString", [](Object*, Selector) -> Id { return new String; }); });
  const auto found = classes().find(name);
  return found == classes().end() ? nullptr : &found->second->object;
}

}  // namespace emulated

using emulated::Object;

extern "C" {

__attribute__((visibility("default"))) void objc_msgSend();

/// The method for a message. An unknown one ends the process, as an uncaught NSException does.
__attribute__((visibility("hidden"), used)) emulated::Method emulated_lookup(Object* self,
                                                                             const char* selector) {
  static const auto nothing = +[]() -> long { return 0; };
  if (!self) return reinterpret_cast<emulated::Method>(nothing);
  const auto found = self->isa->methods.find(selector);
  if (found != self->isa->methods.end()) return found->second;
  std::fprintf(stderr, "-[%s %s]: unrecognized selector\n", self->isa->name, selector);
  std::abort();
}

__attribute__((visibility("default"))) objc::Selector sel_registerName(const char* name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  return const_cast<char*>(names.insert(name).first->c_str());
}

__attribute__((visibility("default"))) objc::Id objc_getClass(const char* name) {
  emulated::default_device();  // which has the other classes
  return emulated::find_class(name);
}

__attribute__((visibility("default"))) void* objc_autoreleasePoolPush() {
  auto*& pools = emulated::pools;
  if (!pools) pools = new std::vector<std::vector<Object*>>;
  pools->emplace_back();
  ++emulated::open_pools;
  return reinterpret_cast<void*>(pools->size());
}

/// Ends a pool and those that were begun after it.
__attribute__((visibility("default"))) void objc_autoreleasePoolPop(void* pool) {
  const auto depth = reinterpret_cast<size_t>(pool);
  auto*& pools = emulated::pools;
  while (pools && pools->size() >= depth && depth > 0) {
    const auto objects = std::move(pools->back());
    pools->pop_back();
    if (pools->empty()) delete std::exchange(pools, nullptr);
    for (Object* o : objects) emulated::release(o);
    if (--emulated::open_pools == 0) emulated::look_for_leaks();
  }
}

__attribute__((visibility("default"))) objc::Id MTLCreateSystemDefaultDevice() {
  Object* const device = emulated::default_device();
  emulated::retain(device);
  return device;
}

/// The number of objects beside classes and the device, which tests compare before and after.
__attribute__((visibility("default"))) long emulated_objects() { return emulated::objects_alive(); }

}  // extern "C"
