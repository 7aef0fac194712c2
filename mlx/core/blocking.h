// Waits of the engine as the program around it sees them: a lock of the program's (Python's GIL) is
// given back meanwhile, and an interrupt (a signal) ends the wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "mlx/core/api.h"

namespace mlx::core {

/// How the program takes part. The functions run on the thread that waits.
struct MLX_API BlockingHooks {
  /// Gives the program's lock back; null where this thread does not hold it.
  void* (*enter)();
  /// Takes the lock again.
  void (*leave)(void* state);
  /// True where what the thread waits for is no longer wanted. Limits its own rate.
  bool (*interrupted)();
};
/// Null for none, as at the start. They stay in use for as long as the process lives.
MLX_API void set_blocking_hooks(const BlockingHooks* hooks);

/// Ends a wait that was interrupted. What was waited for goes on.
struct MLX_API Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};
/// Throws Interrupted where the program says so. Does nothing in an UninterruptedRegion.
MLX_API void check_interrupt();
/// True where check_interrupt may throw on this thread.
MLX_API bool interruptible();

/// The program's lock is not held while this lives: around all that waits or computes for long.
/// Does nothing where the thread does not hold the lock, so that regions nest, and nothing in an
/// UninterruptedRegion.
class MLX_API BlockingRegion {
 public:
  BlockingRegion();
  ~BlockingRegion();
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;
  /// True where this region gave the lock back.
  bool released() const { return state_ != nullptr; }

 private:
  void* state_;
};

/// No code of the program runs on this thread while this lives, and no wait of it is interrupted:
/// around changes that must be whole.
class MLX_API UninterruptedRegion {
 public:
  UninterruptedRegion();
  ~UninterruptedRegion();
  UninterruptedRegion(const UninterruptedRegion&) = delete;
  UninterruptedRegion& operator=(const UninterruptedRegion&) = delete;
  /// True while one lives on this thread.
  static bool active();
};

/// A mutex for threads that may hold the program's lock: they never wait for one of the two while
/// they hold the other. Whoever holds the mutex is in an UninterruptedRegion.
class MLX_API EngineMutex {
 public:
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
};

/// Waits until `ready()`, under the lock; hears interrupts. The caller is in a BlockingRegion that
/// is older than the lock.
template <class Ready>
void wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready) {
  constexpr auto kSlice = std::chrono::milliseconds(20);
  while (!ready()) {
    if (!interruptible()) {
      changed.wait(lock);
    } else if (changed.wait_for(lock, kSlice) == std::cv_status::timeout && !ready()) {
      lock.unlock();
      check_interrupt();
      lock.lock();
    }
  }
}

}  // namespace mlx::core
