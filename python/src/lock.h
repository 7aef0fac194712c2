// Python's lock (the GIL): how the engine gives it back while it waits, and what is run with it
// later, because a thread without it let go of something of Python's.
#pragma once

#include <atomic>
#include <optional>

#include "bind.h"
#include "mlx/core/blocking.h"

namespace mlx::python {

/// True where this thread may use Python.
bool holds_lock();

/// Calls `release(object)` with Python's lock: now where this thread has it, else when a function
/// of the module is next called or has waited. Never after Python's end.
void release_with_lock(void (*release)(void*), void* object) noexcept;

namespace detail {
struct Release;
extern std::atomic<Release*> releases;
void run_releases() noexcept;
}  // namespace detail
/// Runs what waits for the lock, which this thread has.
inline void run_releases() {
  if (detail::releases.load(std::memory_order_relaxed)) [[unlikely]]
    detail::run_releases();
}

/// Gives the lock back for work on so many bytes, if that is worth it.
class LargeRegion {
 public:
  explicit LargeRegion(size_t bytes) {
    constexpr size_t kLarge = 1 << 20;
    if (bytes >= kLarge) region_.emplace();
  }

 private:
  std::optional<BlockingRegion> region_;
};

/// Lets other threads have the lock, and hears signals: within work that takes long with the lock.
void yield_lock();

/// Sets the Python error that ended a wait with Interrupted: what a signal's handler raised.
void restore_interrupt();

/// Gives the engine its hooks.
void bind_lock(nb::module_& m);

}  // namespace mlx::python
