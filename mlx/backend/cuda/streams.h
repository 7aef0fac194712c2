// Queues of work on a device: a CUDA stream each, and a thread for jobs that have to wait on the
// host. Jobs of a queue run in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "mlx/backend/backend.h"
#include "mlx/backend/cuda/driver.h"

namespace mlx::core::cuda {

class Queue;
struct DeviceState;

/// A thread that hears no signals: they are for the threads of the program.
std::thread start_without_signals(std::function<void()> work);

/// Runs the work on a thread of its own, and waits: NVIDIA's libraries take more stack, in some
/// calls, than threads of a program may have.
void on_own_stack(const std::function<void()>& work);
/// Whether the calling thread has too little stack for NVIDIA's driver.
bool has_small_stack();

/// An event of the driver, used again when nobody looks at it any more.
class EventBox : public RefCounted {
 public:
  EventBox();
  ~EventBox() override;
  const EventHandle handle;
};

/// The end of a launch or a copy: queued on the host, then on the device, then over.
class DeviceCompletion final : public Completion {
 public:
  explicit DeviceCompletion(Queue& queue) : queue_(queue) {}
  bool done() override;
  void wait() override;
  std::exception_ptr error() override { return error_; }
  std::vector<const Buffer*> unwritten() override { return unwritten_; }

  Queue& queue() const { return queue_; }
  bool is_over() const { return state_.load(std::memory_order_acquire) == State::over; }
  /// The event that ends the work, once it is on the device; null before.
  Ref<EventBox> event();
  void wait_enqueued();

 private:
  friend class Queue;
  enum class State { queued, enqueued, over };
  Queue& queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<State> state_{State::queued};
  Ref<EventBox> event_;
  std::exception_ptr error_;
  std::vector<const Buffer*> unwritten_;
};

/// Work that a job has given to the device.
struct Flight {
  Ref<DeviceCompletion> completion;
  std::exception_ptr error = {};  ///< of what failed on the host
  std::vector<const Buffer*> unwritten = {};
  std::vector<Ref<Event>> after = {};  ///< whose failure is the work's
  Arguments arguments = {};            ///< kept, as are the buffers, until the work is over
  std::vector<Ref<Buffer>> buffers = {};
  /// What kernels reported, once the work is over: the error, and what was not written.
  std::function<std::exception_ptr(std::vector<const Buffer*>&)> reported = {};
  std::function<void(bool)> at_end = {};  ///< on the host, when it is over: well, or not
};

class Queue {
 public:
  explicit Queue(DeviceState& device);
  /// Runs the job, after those before it: at once on the calling thread where that has nothing to
  /// wait for, else on the queue's own. The job does not throw; the device's context is current.
  void submit(std::function<void()> job, bool waits);
  /// Ends a job's work. Waits where too much is in flight.
  void finish(Flight flight);
  /// Looks which work is over.
  void poll();
  /// Waits for everything submitted so far; hears interrupts if told to.
  void drain(bool hears_interrupts);
  /// Lets the stream wait for another queue's work, for a job that runs. Gives the error of what
  /// the host waited for.
  std::exception_ptr wait_for(const std::vector<Ref<Event>>& events);
  /// Waits on the host until the device has done all that jobs enqueued.
  void wait_device();

  StreamHandle stream() const { return stream_; }
  DeviceState& device() const { return device_; }

 private:
  struct Entry {
    Flight flight;
    Ref<EventBox> event;
  };
  void start_thread();
  void loop();
  void run(std::function<void()>& job);
  /// Runs the job without the lock, which the caller holds.
  void run_unlocked(std::function<void()>& job, std::unique_lock<std::mutex>& lock);
  void end(Entry entry, int status);

  DeviceState& device_;
  StreamHandle stream_ = nullptr;
  std::mutex mutex_;  // of the jobs
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool running_ = false, threaded_ = false;
  uint64_t submitted_ = 0, ran_ = 0;
  std::mutex flight_mutex_;
  std::deque<Entry> flights_;
};

/// True where the events have to be waited for on the host: they belong to other backends, or are
/// not on the device yet.
bool waits_on_host(const std::vector<Ref<Event>>& events);

}  // namespace mlx::core::cuda
