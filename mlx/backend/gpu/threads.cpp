// Threads of the room, with all signals blocked, and the stack of the calling one.
#include "mlx/backend/gpu/threads.h"

#include <pthread.h>
#include <signal.h>

#include <exception>

namespace mlx::core::gpu {

std::thread start_without_signals(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread(std::move(work));
}

bool has_small_stack() {
  thread_local const bool small = [] {
    constexpr size_t kSmall = size_t{512} << 10;
#ifdef __APPLE__
    return pthread_get_stacksize_np(pthread_self()) < kSmall;
#else
    pthread_attr_t attributes;
    size_t bytes = 0;
    void* lowest = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes)) return false;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes < kSmall;
#endif
  }();
  return small;
}

void on_own_stack(const std::function<void()>& work) {
  std::exception_ptr error;
  start_without_signals([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

}  // namespace mlx::core::gpu
