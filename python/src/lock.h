// The GIL: released by the engine while it waits; and work that needs it, deferred from threads
// that released Python objects without it.
#pragma once

#include <atomic>
#include <optional>

#include "bind.h"
#include "mlx/core/blocking.h"

namespace mlx::python {

/// True if this thread holds the GIL.
bool holds_lock();

/// Calls `release(object)` with the GIL: immediately if this thread holds it, otherwise when a
/// function of the module is next called or has waited. Never after Python has ended.
void release_with_lock(void (*release)(void*), void* object) noexcept;

namespace detail {
struct Release;
extern std::atomic<Release*> releases;
void run_releases() noexcept;
}  // namespace detail
/// Runs the deferred releases; this thread holds the GIL.
inline void run_releases() {
  if (detail::releases.load(std::memory_order_relaxed)) [[unlikely]]
    detail::run_releases();
}

/// Releases the GIL for work on many bytes.
class LargeRegion {
 public:
  explicit LargeRegion(size_t bytes) {
    constexpr size_t kLarge = 1 << 20;
    if (bytes >= kLarge) region_.emplace();
  }

 private:
  std::optional<BlockingRegion> region_;
};

/// Lets other threads take the GIL and checks for signals: called within work that holds it for
/// long.
void yield_lock();

/// Sets the Python error raised by the signal handler that ended a wait with Interrupted.
void restore_interrupt();

/// Installs the engine's blocking hooks.
void bind_lock(nb::module_& m);

}  // namespace mlx::python
