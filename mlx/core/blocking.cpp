#include "mlx/core/blocking.h"

#include <atomic>
#include <cstdint>

#include "mlx/core/event.h"

namespace mlx::core {

namespace {

std::atomic<const BlockingHooks*> hooks{nullptr};
thread_local constinit int uninterrupted = 0;

/// Where threads wait for events: each event has its room by its address.
struct Room {
  std::mutex mutex;
  std::condition_variable changed;
};
Room& room_of(const void* event) {
  constexpr size_t kRooms = 16;
  static auto* rooms = new Room[kRooms];
  return rooms[(reinterpret_cast<uintptr_t>(event) >> 6) % kRooms];
}

}  // namespace

void set_blocking_hooks(const BlockingHooks* h) { hooks.store(h, std::memory_order_release); }

bool interruptible() {
  return uninterrupted == 0 && hooks.load(std::memory_order_relaxed) != nullptr;
}

void check_interrupt() {
  if (uninterrupted > 0) return;
  const BlockingHooks* h = hooks.load(std::memory_order_acquire);
  if (h && h->interrupted()) throw Interrupted();
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
    // The program's lock comes first; meanwhile another thread may take this one.
    mutex_.unlock();
  }
  ++uninterrupted;
}
void EngineMutex::unlock() {
  --uninterrupted;
  mutex_.unlock();
}

void Event::block() {
  BlockingRegion region;
  Room& room = room_of(this);
  std::unique_lock lock(room.mutex);
  wait_for(room.changed, lock, [&] {
    int seen = kPending;
    return !state_.compare_exchange_strong(seen, kAwaited) && seen != kAwaited;
  });
}

void Event::finish(int state) {
  if (state_.exchange(state, std::memory_order_acq_rel) != kAwaited) return;
  // The event may be gone by now; its room is not.
  Room& room = room_of(this);
  std::lock_guard lock(room.mutex);
  room.changed.notify_all();
}

}  // namespace mlx::core
