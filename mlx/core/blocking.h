// Blocking waits of the engine. While a thread waits, a lock of the embedding program (Python's
// GIL) is released, and an interrupt (a signal) ends the wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "mlx/core/api.h"

namespace mlx::core {

/// Hooks of the embedding program. They run on the thread that waits.
struct MLX_API BlockingHooks {
  /// Releases the program's lock; returns null if this thread does not hold it.
  void* (*enter)();
  /// Reacquires the lock.
  void (*leave)(void* state);
  /// True if the wait should end because of a signal. Limits its own rate.
  bool (*interrupted)();
};
/// Sets the hooks; null, the initial value, means none. They must stay valid for the life of the
/// process.
MLX_API void set_blocking_hooks(const BlockingHooks* hooks);

/// Thrown to end a wait that was interrupted. Launches go on; long loops of the engine's threads
/// stop, and a later wait resumes them.
struct MLX_API Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};
/// Throws Interrupted if a hook reports an interrupt. Does nothing in an UninterruptedRegion.
MLX_API void check_interrupt();
/// True where check_interrupt may throw on this thread.
MLX_API bool interruptible();

/// Marks the calling thread as one of the engine's: no signal reaches it, and its long work ends
/// where a wait of the program is interrupted.
MLX_API void mark_engine_thread();
/// Interrupts the long work of the engine's threads.
MLX_API void interrupt_engine_threads();
/// For work that may take long, or never end.
class MLX_API InterruptWatch {
 public:
  InterruptWatch();
  /// Throws Interrupted like check_interrupt; on a thread of the engine, if a wait of the program
  /// was interrupted since this object was made. Such work may be resumed by a later wait.
  void check() const;

 private:
  uint64_t begun_;
};

/// Releases the program's lock for its lifetime: placed around everything that waits or computes
/// for long. Does nothing if the thread does not hold the lock, so regions nest, or in an
/// UninterruptedRegion.
class MLX_API BlockingRegion {
 public:
  BlockingRegion();
  ~BlockingRegion();
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;
  /// True if this region released the lock.
  bool released() const { return state_ != nullptr; }

 private:
  void* state_;
};

/// While one exists, no user code runs on this thread and no wait of this thread is interrupted:
/// placed around changes that must be atomic.
class MLX_API UninterruptedRegion {
 public:
  UninterruptedRegion();
  ~UninterruptedRegion();
  UninterruptedRegion(const UninterruptedRegion&) = delete;
  UninterruptedRegion& operator=(const UninterruptedRegion&) = delete;
  /// True while one exists on this thread.
  static bool active();
};

/// A mutex for threads that may hold the program's lock. A thread never waits for one of the two
/// locks while it holds the other. Holding the mutex implies an UninterruptedRegion.
class MLX_API EngineMutex {
 public:
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
};

/// Waits under the lock until `ready()`; checks for interrupts. The caller is in a BlockingRegion
/// that was entered before the lock was taken.
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
