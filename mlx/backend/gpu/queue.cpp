// Jobs in order, work in flight, and the threads of a queue.
#include "mlx/backend/gpu/queue.h"

#include <chrono>
#include <optional>
#include <thread>

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/graphs.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/core/blocking.h"

namespace mlx::core::gpu {

namespace {
constexpr size_t kMostFlights = 64;
thread_local bool queue_thread = false;
}  // namespace

bool on_queue_thread() { return queue_thread; }

Queue::Queue(DeviceState& device, int number)
    : device_(device), stream_(device.hardware->make_stream(number)), graphs_(*device.hardware) {}
Queue::~Queue() {
  graphs_.clear();
  device_.hardware->free_stream(stream_);
}

//--- jobs

void Queue::submit(std::function<void()> job, bool waits) {
  std::unique_lock lock(mutex_);
  waits = (waits || device_.hardware->on_queue || has_small_stack()) && !closed_;
  if (!waits && jobs_.empty() && !running_) {
    run_unlocked(job, lock);
    changed_.notify_all();
    lock.unlock();
    close_if_released();
  } else {
    jobs_.push_back(std::move(job));
    if (!std::exchange(threaded_, true))
      start_without_signals([self = Ref<Queue>(this)] { self->loop(); }).detach();
    changed_.notify_all();
  }
}

void Queue::close_if_released() {
  if (released_ && idle()) device_.close_idle();
}

void Queue::run_unlocked(std::function<void()>& job, std::unique_lock<std::mutex>& lock) {
  running_ = true;
  lock.unlock();
  device_.hardware->begin(stream_);
  job();
  job = {};
  lock.lock();
  running_ = false;
}

void Queue::loop() {
  queue_thread = true;
  mark_engine_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return (!jobs_.empty() || closed_) && !running_; });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    run_unlocked(job, lock);
    changed_.notify_all();
    lock.unlock();
    close_if_released();
    lock.lock();
  }
}

bool Queue::idle() {
  {
    std::lock_guard lock(mutex_);
    if (running_ || !jobs_.empty()) return false;
  }
  std::lock_guard lock(flight_mutex_);
  return flights_.empty();
}

void Queue::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::lock_guard lock(watch_mutex_);
  watch_closed_ = true;
  watch_changed_.notify_all();
}

std::exception_ptr Queue::wait_for(const std::vector<Ref<Event>>& events) {
  try {
    for (const auto& e : events) {
      auto* own = dynamic_cast<DeviceCompletion*>(e->completion());
      if (!own) {
        e->wait_first();
        continue;
      }
      own->wait_enqueued();
      if (own->is_over()) {
        e->wait_first();
      } else if (&own->queue() != this) {
        if (Ref<EventBox> box = own->event()) device_.hardware->stream_waits(stream_, box->handle);
      }
    }
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

void Queue::enqueue(const DeviceCall& call) {
  if (Recorder* recorder = Recorder::of(*this))
    recorder->add(call);
  else if (call.library)
    call.library(stream_);
  else
    device_.hardware->launch(call, stream_);
}
void Queue::call(std::span<const int64_t> key, std::function<void(StreamHandle)> library) {
  DeviceCall call;
  call.arguments = key;
  call.library = std::move(library);
  enqueue(call);
}
StreamHandle Queue::stream() const {
  if (Recorder* recorder = Recorder::of(*this)) recorder->flush();
  return stream_;
}

//--- work in flight

void Queue::finish(Flight flight) {
  Ref<DeviceCompletion> completion = flight.completion;
  Ref<EventBox> event;
  try {
    event = make_ref<EventBox>(*device_.hardware, stream_);
  } catch (...) {
    // The device cannot say when it ends: it has ended when the stream has.
    device_.hardware->wait_stream(stream_);
    if (!flight.error) flight.error = std::current_exception();
    flight.rest = {};
    return end({std::move(flight), {}}, {});
  }
  Ref<EventBox> oldest;
  completion->stops_ = flight.rest != nullptr;
  {
    std::lock_guard lock(flight_mutex_);
    flights_.push_back({std::move(flight), event});
    if (flights_.size() > kMostFlights) oldest = flights_.front().event;
  }
  {
    std::lock_guard lock(completion->mutex_);
    completion->event_ = std::move(event);
    if (completion->state_ == DeviceCompletion::State::queued)
      completion->state_ = DeviceCompletion::State::enqueued;
    completion->changed_.notify_all();
  }
  if (oldest) {
    BlockingRegion region;
    device_.hardware->wait(oldest->handle);
  }
  poll();
}

namespace {
/// The queues that this thread polls, innermost first. Without a destructor: work also ends at the
/// program's end, when a thread's objects are gone.
struct Polled {
  const Queue* queue;
  const Polled* outer;
};
thread_local const Polled* polled = nullptr;
}  // namespace

/// Ends, in order, the work that is over on the device. Work ends after what it waited for, which
/// may be in another queue and wait for work of this one: nothing is waited for here.
void Queue::poll() {
  for (const Polled* p = polled; p; p = p->outer)
    if (p->queue == this) return;
  const Polled here{this, polled};
  polled = &here;
  struct Leave {
    ~Leave() { polled = polled->outer; }
  } leave;
  for (;;) {
    Ref<DeviceCompletion> first;
    std::vector<Ref<Event>> after;
    std::exception_ptr fault;
    {
      std::unique_lock lock(flight_mutex_);
      if (flights_.empty()) {
        lock.unlock();
        return close_if_released();
      }
      const Entry& front = flights_.front();
      if (!device_.hardware->reached(front.event->handle, fault)) return;
      first = front.flight.completion;
      after = front.flight.after;
    }
    for (const auto& e : after) {
      auto* own = dynamic_cast<DeviceCompletion*>(e->completion());
      if (!own || own->is_over()) continue;
      own->queue().poll();
      if (!own->is_over()) return;
    }
    Entry entry;
    {
      std::lock_guard lock(flight_mutex_);
      if (flights_.empty() || flights_.front().flight.completion.get() != first.get()) continue;
      entry = std::move(flights_.front());
      flights_.pop_front();
    }
    end(std::move(entry), fault);
  }
}

/// Ends the work for its waiters. Memory that it kept goes first.
void Queue::end(Entry entry, std::exception_ptr fault) {
  UninterruptedRegion quiet;  // the awaited work is almost over
  Flight& f = entry.flight;
  try {
    if (fault) std::rethrow_exception(fault);
    for (const auto& e : f.after) e->wait_first();
    if (f.reported)
      if (std::exception_ptr found = f.reported(f.unwritten); found && (!f.error || f.rest)) {
        f.error = found;
        if (std::exchange(f.rest, {})) f.unwritten = {nullptr};
      }
  } catch (...) {
    if (!f.error || f.rest) f.error = std::current_exception();
    f.unwritten.clear();
    f.rest = {};
  }
  if (f.at_end) f.at_end(!f.error);
  f.at_end = {};
  f.reported = {};
  f.after.clear();
  f.arguments = {};
  f.buffers.clear();
  if (f.error && f.unwritten.empty()) f.unwritten = {nullptr};
  DeviceCompletion& c = *f.completion;
  std::lock_guard lock(c.mutex_);
  c.error_ = std::move(f.error);
  c.unwritten_ = std::move(f.unwritten);
  c.rest_ = std::move(f.rest);
  c.state_.store(DeviceCompletion::State::over, std::memory_order_release);
  c.changed_.notify_all();
}

void Queue::wait_device() {
  device_.hardware->wait_stream(stream());
  poll();
}

void Queue::drain(bool hears_interrupts) {
  BlockingRegion region;
  std::optional<UninterruptedRegion> quiet;
  if (!hears_interrupts) quiet.emplace();
  auto end = make_ref<DeviceCompletion>(Ref<Queue>(this));
  submit([this, end] { finish({.completion = end}); }, false);
  end->wait();
}

//--- waits that hear signals

Queue::Watch::Watch(Queue& queue) : queue_(queue) {
  std::lock_guard lock(queue.watch_mutex_);
  if (!std::exchange(queue.watched_, true))
    start_without_signals([self = Ref<Queue>(&queue)] { self->watch_loop(); }).detach();
  ++queue.watches_;
  queue.watch_changed_.notify_all();
}
Queue::Watch::~Watch() {
  std::lock_guard lock(queue_.watch_mutex_);
  --queue_.watches_;
}

Ref<EventBox> Queue::first_in_flight() {
  std::lock_guard lock(flight_mutex_);
  return flights_.empty() ? Ref<EventBox>() : flights_.front().event;
}

void Queue::watch_loop() {
  queue_thread = true;
  device_.hardware->enter();
  std::unique_lock lock(watch_mutex_);
  for (;;) {
    watch_changed_.wait(lock, [&] { return watches_ > 0 || watch_closed_; });
    if (watches_ == 0) return;
    lock.unlock();
    Ref<EventBox> first = first_in_flight();
    if (first) {
      device_.hardware->wait(first->handle);
      poll();
    }
    // Another thread may be about to end it.
    const bool stays = first && first_in_flight().get() == first.get();
    lock.lock();
    if ((!first || stays) && watches_ > 0)
      watch_changed_.wait_for(lock, std::chrono::microseconds(100));
  }
}

}  // namespace mlx::core::gpu
