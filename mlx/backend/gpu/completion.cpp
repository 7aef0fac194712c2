// Waits for work of a device: a short look, then a wait that blocks.
#include "mlx/backend/gpu/completion.h"

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/queue.h"
#include "mlx/core/blocking.h"

namespace mlx::core::gpu {

DeviceCompletion::DeviceCompletion(Ref<Queue> queue) : queue_(std::move(queue)) {}
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
  {
    std::unique_lock lock(mutex_);
    wait_for(changed_, lock, [&] { return state_ != State::queued; });
  }
  constexpr auto kSpin = std::chrono::microseconds(50);
  for (const auto start = Clock::now(); Clock::now() - start < kSpin;)
    if (done()) return;
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
    changed_.wait_for(lock, std::chrono::microseconds(100), [&] { return is_over(); });
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
