// Blocking regions and interrupts: calls the hooks that the embedding program has set.
#include "mlx/core/blocking.h"

#include <atomic>

namespace mlx::core {

namespace {

std::atomic<const BlockingHooks*> hooks{nullptr};
thread_local constinit int uninterrupted = 0;
thread_local constinit bool of_engine = false;
/// How often the work of the engine's threads was interrupted.
std::atomic<uint64_t> interruptions{0};

}  // namespace

void set_blocking_hooks(const BlockingHooks* h) { hooks.store(h, std::memory_order_release); }

bool interruptible() {
  return uninterrupted == 0 && hooks.load(std::memory_order_relaxed) != nullptr;
}

void check_interrupt() {
  if (uninterrupted > 0) return;
  const BlockingHooks* h = hooks.load(std::memory_order_acquire);
  if (!h || !h->interrupted()) return;
  interrupt_engine_threads();
  throw Interrupted();
}

void mark_engine_thread() { of_engine = true; }
void interrupt_engine_threads() { interruptions.fetch_add(1, std::memory_order_relaxed); }

InterruptWatch::InterruptWatch() : begun_(interruptions.load(std::memory_order_relaxed)) {}
void InterruptWatch::check() const {
  check_interrupt();
  if (of_engine && interruptions.load(std::memory_order_relaxed) != begun_) throw Interrupted();
}

BlockingRegion::BlockingRegion() {
  const BlockingHooks* h = hooks.load(std::memory_order_acquire);
  state_ = h && uninterrupted == 0 ? h->enter() : nullptr;
}
BlockingRegion::~BlockingRegion() {
  if (state_) hooks.load(std::memory_order_acquire)->leave(state_);
}

UninterruptedRegion::UninterruptedRegion() { ++uninterrupted; }
UninterruptedRegion::~UninterruptedRegion() { --uninterrupted; }
bool UninterruptedRegion::active() { return uninterrupted > 0; }

void EngineMutex::lock() {
  while (!mutex_.try_lock()) {
    BlockingRegion region;
    mutex_.lock();
    if (!region.released()) break;
    // Lock order: the program's lock (the GIL) first. Another thread may take this mutex in
    // between.
    mutex_.unlock();
  }
  ++uninterrupted;
}
void EngineMutex::unlock() {
  --uninterrupted;
  mutex_.unlock();
}

}  // namespace mlx::core
