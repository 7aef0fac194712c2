// Fibers, on which devices of the tests run the threads of a block. AddressSanitizer and
// ThreadSanitizer are told of each change of stacks.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "poison.h"
#include "stack_switch.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

#include <atomic>
#endif

namespace emulated {

/// Where a stack stands while another one runs.
struct StackPlace {
  void* pointer = nullptr;
#ifdef __SANITIZE_ADDRESS__
  const void* lowest = nullptr;
  size_t bytes = 0;
  void* fake = nullptr;
  static inline thread_local StackPlace* left = nullptr;  // by the last change
#endif
#ifdef __SANITIZE_THREAD__
  void* thread = nullptr;  // the fiber of ThreadSanitizer
#endif

  /// Runs `to`, and comes back when another stack changes to this one.
  void change_to(StackPlace& to) {
#ifdef __SANITIZE_ADDRESS__
    left = this;
    __sanitizer_start_switch_fiber(&fake, to.lowest, to.bytes);
#endif
#ifdef __SANITIZE_THREAD__
    if (!thread) thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.thread, 0);
#endif
    mlx_switch_stacks(&pointer, to.pointer);
#ifdef __SANITIZE_ADDRESS__
    arrived(fake);
#endif
  }
  /// Begins a function that a change enters.
  static void entered() { arrived(nullptr); }

 private:
  static void arrived([[maybe_unused]] void* fake) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, &left->lowest, &left->bytes);
#endif
  }
};

/// A stack that begins with a function. Pages that are not touched cost nothing.
class Fiber {
 public:
  /// The function never returns. The last `spare` bytes, a multiple of 16, are not used.
  Fiber(void (*function)(), size_t bytes, size_t spare = 0)
      : base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes_(bytes) {
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    at.pointer = stack_entering(static_cast<char*>(base_) + bytes - spare, function);
#ifdef __SANITIZE_ADDRESS__
    at.lowest = base_;
    at.bytes = bytes;
#endif
#ifdef __SANITIZE_THREAD__
    at.thread = __tsan_create_fiber(0);
    ++alive;
#endif
  }
  Fiber(const Fiber&) = delete;
  ~Fiber() {
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(at.thread), --alive;
#endif
    // Functions that were given up have left marks around their variables.
    unpoison(base_, bytes_);
    munmap(base_, bytes_);
  }

  StackPlace at;
#ifdef __SANITIZE_THREAD__
  static inline std::atomic<int> alive{0};
#endif

 private:
  void* const base_;
  const size_t bytes_;
};

}  // namespace emulated
