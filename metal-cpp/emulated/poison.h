// Memory whose use is an error for AddressSanitizer, where a device of the tests is built with it.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace emulated {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kAddressSanitizer = true;
inline void poison(const void* begin, size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void unpoison(const void* begin, size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
#else
constexpr bool kAddressSanitizer = false;
inline void poison(const void*, size_t) {}
inline void unpoison(const void*, size_t) {}
#endif

}  // namespace emulated
