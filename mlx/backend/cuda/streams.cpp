#include "mlx/backend/cuda/streams.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "mlx/backend/cuda/device.h"
#include "mlx/core/blocking.h"

namespace mlx::core::cuda {

namespace {

constexpr size_t kMostFlights = 64;
thread_local bool queue_thread = false;

struct FreeEvents {
  std::mutex mutex;
  std::vector<EventHandle> handles;
};
FreeEvents& free_events() {
  static auto& f = *new FreeEvents;
  return f;
}

EventHandle take_event() {
  {
    FreeEvents& f = free_events();
    std::lock_guard lock(f.mutex);
    if (!f.handles.empty()) {
      EventHandle e = f.handles.back();
      f.handles.pop_back();
      return e;
    }
  }
  EventHandle e = nullptr;
  check(driver().create_event(&e, kEventBlocks | kEventWithoutTiming), "cuEventCreate");
  return e;
}

}  // namespace

bool on_queue_thread() { return queue_thread; }

std::thread start_without_signals(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

bool has_small_stack() {
  thread_local const bool small = [] {
    pthread_attr_t attributes;
    size_t bytes = 0;
    void* lowest = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes)) return false;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes < size_t{512} << 10;
  }();
  return small;
}

void on_own_stack(const std::function<void()>& work) {
  std::exception_ptr error;
  start_without_signals([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

EventBox::EventBox() : handle(take_event()) {}
EventBox::~EventBox() {
  FreeEvents& f = free_events();
  std::lock_guard lock(f.mutex);
  f.handles.push_back(handle);
}

//--- completion

bool DeviceCompletion::done() {
  if (state_.load(std::memory_order_acquire) == State::enqueued) {
    Entrance here;
    queue_.poll();
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
  using std::chrono::microseconds;
  {
    std::unique_lock lock(mutex_);
    wait_for(changed_, lock, [&] { return state_ != State::queued; });
  }
  const auto start = Clock::now();
  auto waited = [&](microseconds t) { return Clock::now() - start > t; };
  while (!waited(microseconds(50)))
    if (done()) return;
  queue_.device().enter();
  if (interruptible()) {
    // The driver's wait would not hear a signal.
    while (!done()) {
      check_interrupt();
      std::this_thread::sleep_for(microseconds(waited(microseconds(2000)) ? 200 : 20));
      if (Ref<EventBox> e = event(); driver().query_event(e->handle) != kNotReady) break;
    }
  } else {
    driver().wait_event(event()->handle);
  }
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

//--- queue

Queue::Queue(DeviceState& device) : device_(device) {
  check(driver().create_stream(&stream_, kNonBlockingStream), "cuStreamCreate");
}

void Queue::run(std::function<void()>& job) {
  driver().set_context(device_.context);
  job();
  job = {};
}

void Queue::submit(std::function<void()> job, bool waits) {
  std::unique_lock lock(mutex_);
  ++submitted_;
  waits = waits || has_small_stack();
  if (!waits && jobs_.empty() && !running_) {
    run_unlocked(job, lock);
  } else {
    jobs_.push_back(std::move(job));
    if (!std::exchange(threaded_, true)) start_thread();
  }
  changed_.notify_all();
}

void Queue::run_unlocked(std::function<void()>& job, std::unique_lock<std::mutex>& lock) {
  running_ = true;
  lock.unlock();
  run(job);
  lock.lock();
  running_ = false;
  ++ran_;
}

void Queue::start_thread() {
  start_without_signals([this] { loop(); }).detach();
}

void Queue::loop() {
  queue_thread = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !jobs_.empty() && !running_; });
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    run_unlocked(job, lock);
    changed_.notify_all();
  }
}

std::exception_ptr Queue::wait_for(const std::vector<Ref<Event>>& events) {
  try {
    for (const auto& e : events) {
      auto* own = dynamic_cast<DeviceCompletion*>(e->completion());
      if (!own) {
        e->wait();
        continue;
      }
      own->wait_enqueued();
      if (&own->queue() == this) continue;
      if (Ref<EventBox> box = own->event(); box && !own->done())
        check(driver().stream_waits(stream_, box->handle, 0), "cuStreamWaitEvent");
    }
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

void Queue::finish(Flight flight) {
  Ref<DeviceCompletion> completion = flight.completion;
  Ref<EventBox> event;
  int status = kSuccess;
  try {
    event = make_ref<EventBox>();
    status = driver().record_event(event->handle, stream_);
    check(status, "cuEventRecord");
  } catch (...) {
    // Nobody can be told when it ends: it has ended when the stream has.
    driver().wait_stream(stream_);
    if (!flight.error) flight.error = std::current_exception();
    return end({std::move(flight), {}}, kSuccess);
  }
  Ref<EventBox> oldest;
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
    driver().wait_event(oldest->handle);
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
    int status;
    {
      std::lock_guard lock(flight_mutex_);
      if (flights_.empty()) return;
      const Entry& front = flights_.front();
      status = driver().query_event(front.event->handle);
      if (status == kNotReady) return;
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
    end(std::move(entry), status);
  }
}

/// Tells those who wait for the work. What it kept goes first.
void Queue::end(Entry entry, int status) {
  UninterruptedRegion quiet;  // what is waited for here is all but over
  Flight& f = entry.flight;
  try {
    check(status, "a kernel or a copy");
    for (const auto& e : f.after) e->wait_first();
    if (f.reported)
      if (std::exception_ptr found = f.reported(f.unwritten); !f.error) f.error = found;
  } catch (...) {
    if (!f.error) f.error = std::current_exception();
    f.unwritten.clear();
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
  c.state_.store(DeviceCompletion::State::over, std::memory_order_release);
  c.changed_.notify_all();
}

void Queue::wait_device() {
  check(driver().wait_stream(stream_), "a kernel or a copy");
  poll();
}

void Queue::drain(bool hears_interrupts) {
  BlockingRegion region;
  {
    std::unique_lock lock(mutex_);
    const uint64_t last = submitted_;
    auto ran = [&] { return ran_ >= last; };
    if (hears_interrupts)
      core::wait_for(changed_, lock, ran);
    else
      changed_.wait(lock, ran);
  }
  device_.enter();
  if (hears_interrupts && interruptible()) {
    // The driver's wait would not hear a signal.
    Ref<EventBox> end = make_ref<EventBox>();
    check(driver().record_event(end->handle, stream_), "cuEventRecord");
    while (driver().query_event(end->handle) == kNotReady) {
      check_interrupt();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  } else {
    driver().wait_stream(stream_);
  }
  poll();
}

}  // namespace mlx::core::cuda
