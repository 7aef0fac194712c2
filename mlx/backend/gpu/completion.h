// The end of a launch or a copy on a device.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/backend/gpu/device.h"

namespace mlx::core::gpu {

class Queue;

/// An event of the device, given back when nothing looks at it any more.
class EventBox : public RefCounted {
 public:
  /// The end of what the stream has by now.
  EventBox(Hardware& hardware, StreamHandle stream)
      : handle(hardware.record(stream)), hardware_(hardware) {}
  ~EventBox() override { hardware_.free_event(handle); }
  const EventHandle handle;

 private:
  Hardware& hardware_;
};

/// How long the last wait for a launch of the same work took, in microseconds.
using LastWait = std::shared_ptr<std::atomic<int64_t>>;

/// The end of a launch or a copy: queued on the host, then on the device, then over.
class DeviceCompletion final : public Completion {
 public:
  explicit DeviceCompletion(Ref<Queue> queue, LastWait last_wait = {});
  ~DeviceCompletion() override;
  bool done() override;
  bool begun() override {
    const State s = state_.load(std::memory_order_acquire);
    return s == State::over || (s == State::enqueued && !stops_);
  }
  void wait() override;
  std::exception_ptr error() override { return error_; }
  std::vector<const Buffer*> unwritten() override { return unwritten_; }
  std::unique_ptr<SuspendedWork> rest() override { return std::move(rest_); }

  Queue& queue() const { return *queue_; }
  bool is_over() const { return state_.load(std::memory_order_acquire) == State::over; }
  /// The event that ends the work, once it is on the device; null before.
  Ref<EventBox> event();
  void wait_enqueued();

 private:
  friend class Queue;
  void wait_until_over();
  enum class State { queued, enqueued, over };
  const Ref<Queue> queue_;
  const LastWait last_wait_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<State> state_{State::queued};
  bool stops_ = false;  ///< it can go on later; set before it is enqueued
  Ref<EventBox> event_;
  std::exception_ptr error_;
  std::vector<const Buffer*> unwritten_;
  std::unique_ptr<SuspendedWork> rest_;
};

/// True where the events have to be waited for on the host: they belong to other backends, or are
/// not on the device yet.
bool waits_on_host(const std::vector<Ref<Event>>& events);

}  // namespace mlx::core::gpu
