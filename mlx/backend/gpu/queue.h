// Queues of work on a device: one of its streams each, and a thread for jobs that have to wait on
// the host. Jobs of a queue run in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "mlx/backend/gpu/completion.h"
#include "mlx/backend/gpu/graphs.h"

namespace mlx::core::gpu {

struct DeviceState;

/// Work that a job has given to the device.
struct Flight {
  Ref<DeviceCompletion> completion;
  Ref<Event> done = {};           ///< kept until the work is over
  std::exception_ptr error = {};  ///< of what failed on the host
  std::vector<const Buffer*> unwritten = {};
  std::vector<Ref<Event>> after = {};  ///< whose failure is the work's
  Arguments arguments = {};            ///< kept, as are the buffers, until the work is over
  std::vector<Ref<Buffer>> buffers = {};
  std::vector<std::shared_ptr<const void>> kernels = {};  ///< that the work runs, kept too
  /// Errors that kernels reported, once the work is over: the first, and what was not written.
  std::function<std::exception_ptr(std::vector<const Buffer*>&)> reported = {};
  std::function<void(bool)> at_end = {};     ///< on the host, when it is over: well, or not
  std::unique_ptr<SuspendedWork> rest = {};  ///< of a launch that can go on after its error
};

class Queue : public RefCounted {
 public:
  /// `number`: of the engine's stream.
  Queue(DeviceState& device, int number);
  ~Queue() override;
  /// Runs the job, after those before it: at once on the calling thread where that has nothing to
  /// wait for, else on the queue's own. The job does not throw; the device is entered.
  void submit(std::function<void()> job, bool waits);
  /// Ends a job's work. Waits where too much is in flight.
  void finish(Flight flight);
  /// Ends what is over on the device.
  void poll();
  /// Waits for everything submitted so far; throws Interrupted if `hears_interrupts`.
  void drain(bool hears_interrupts);
  /// Lets the stream wait for another queue's work, for a job that runs. Gives the error of what
  /// the host waited for.
  std::exception_ptr wait_for(const std::vector<Ref<Event>>& events);
  /// Waits on the host until the device has done all that jobs enqueued.
  void wait_device();
  /// Ends the threads, when there is nothing left for them: no job follows.
  void close();
  /// True where nothing is queued or in flight.
  bool idle();
  /// Whether no thread has the stream: the queue lets itself be closed once it is idle.
  void set_released(bool released) { released_ = released; }

  /// Makes a call, for a job that runs.
  void enqueue(const DeviceCall& call);
  /// Calls a library, whose work depends on nothing but the words of `key`. `library` keeps the
  /// objects to which these point.
  void call(std::span<const int64_t> key, std::function<void(StreamHandle)> library);
  /// The stream, after the calls that the recorder has.
  StreamHandle stream() const;
  /// For jobs that run.
  GraphCache& graphs() { return graphs_; }
  DeviceState& device() const { return device_; }

  /// While one exists, a thread of the queue blocks in the device's wait and ends work that is
  /// over.
  class Watch {
   public:
    explicit Watch(Queue& queue);
    ~Watch();
    Watch(const Watch&) = delete;

   private:
    Queue& queue_;
  };

 private:
  struct Entry {
    Flight flight;
    Ref<EventBox> event;
  };
  void loop();
  void close_if_released();
  void watch_loop();
  /// Runs the job without the lock, which the caller holds.
  void run_unlocked(std::function<void()>& job, std::unique_lock<std::mutex>& lock);
  Ref<EventBox> first_in_flight();
  void end(Entry entry, std::exception_ptr fault);

  DeviceState& device_;
  StreamHandle stream_ = nullptr;
  GraphCache graphs_;
  std::atomic<bool> released_ = false;
  std::mutex mutex_;  // of the jobs
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool running_ = false, threaded_ = false, closed_ = false;
  std::mutex flight_mutex_;
  std::deque<Entry> flights_;
  std::mutex watch_mutex_;
  std::condition_variable watch_changed_;
  int watches_ = 0;
  bool watched_ = false, watch_closed_ = false;
};

}  // namespace mlx::core::gpu
