// Waits for work of a device: a short look, then a wait that blocks.
#include "mlx/backend/gpu/completion.h"

#include <algorithm>
#include <chrono>

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/queue.h"
#include "mlx/core/blocking.h"

namespace mlx::core::gpu {

namespace {

using std::chrono::microseconds;

/// How long a thread looks before it blocks: a little longer than the last wait for the same work
/// took, hardly where that was long, since blocking then costs little beside it.
microseconds looking_time(const LastWait& last_wait) {
  constexpr microseconds kUsual{50}, kMost{1500}, kLeast{10};
  if (!last_wait) return kUsual;
  const microseconds last{last_wait->load(std::memory_order_relaxed)};
  return last > kMost ? kLeast : std::max(kUsual, last + last / 4);
}

}  // namespace

DeviceCompletion::DeviceCompletion(Ref<Queue> queue, LastWait last_wait)
    : queue_(std::move(queue)), last_wait_(std::move(last_wait)) {}
DeviceCompletion::~DeviceCompletion() = default;

bool DeviceCompletion::done() {
  if (state_.load(std::memory_order_acquire) == State::enqueued) {
    Entrance here;
    queue_->poll();
  }
  return is_over();
}

Ref<EventBox> DeviceCompletion::event() {
  std::lock_guard lock(mutex_);
  return event_;
}

void DeviceCompletion::wait_enqueued() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::queued; });
}

void DeviceCompletion::wait() {
  if (is_over()) return;
  Entrance here;
  const auto start = Clock::now();
  wait_until_over();
  if (last_wait_)
    last_wait_->store(std::chrono::duration_cast<microseconds>(Clock::now() - start).count(),
                      std::memory_order_relaxed);
}

void DeviceCompletion::wait_until_over() {
  {
    std::unique_lock lock(mutex_);
    wait_for(changed_, lock, [&] { return state_ != State::queued; });
  }
  const auto end = Clock::now() + looking_time(last_wait_);
  do {
    if (done()) return;
  } while (Clock::now() < end);
  if (interruptible()) {
    // The device's wait ends with the work alone: the queue's thread is in it.
    Queue::Watch watch(*queue_);
    std::unique_lock lock(mutex_);
    return wait_for(changed_, lock, [&] { return is_over(); });
  }
  queue_->device().enter();
  if (Ref<EventBox> e = event()) queue_->device().hardware->wait(e->handle);
  while (!done()) {
    // Another thread may be about to say so.
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, microseconds(100), [&] { return is_over(); });
  }
}

bool waits_on_host(const std::vector<Ref<Event>>& events) {
  for (const auto& e : events) {
    if (e->done()) continue;
    auto* own = dynamic_cast<DeviceCompletion*>(e->completion());
    if (!own || !own->event()) return true;
  }
  return false;
}

}  // namespace mlx::core::gpu
