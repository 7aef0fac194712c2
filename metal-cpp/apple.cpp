// Finds the Objective-C runtime and Metal in the running system.
#include <dlfcn.h>

#include <cstdlib>

#include "objc.h"

namespace objc {

namespace {

constexpr const char* kObjc = "/usr/lib/libobjc.A.dylib";
constexpr const char* kMetal = "/System/Library/Frameworks/Metal.framework/Metal";

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool open(Runtime& r) {
  const char* other = std::getenv("MLX_METAL_RUNTIME");
  void* const objc = dlopen(other ? other : kObjc, RTLD_LAZY | RTLD_LOCAL);
  void* const metal = dlopen(other ? other : kMetal, RTLD_LAZY | RTLD_LOCAL);
  return objc && metal && find(objc, "objc_msgSend", r.send) &&
         find(objc, "sel_registerName", r.selector) && find(objc, "objc_getClass", r.find_class) &&
         find(objc, "objc_autoreleasePoolPush", r.push_pool) &&
         find(objc, "objc_autoreleasePoolPop", r.pop_pool) &&
         find(metal, "MTLCreateSystemDefaultDevice", r.default_device);
}

}  // namespace

const Runtime* runtime() {
  static Runtime opened;
  static const Runtime* const found = open(opened) ? &opened : nullptr;
  return found;
}

}  // namespace objc
