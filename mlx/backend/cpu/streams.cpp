// Streams of the CPU: job queues, their threads, and fork handling.
#include "mlx/backend/cpu/streams.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "mlx/core/blocking.h"

namespace mlx::core::cpu {

namespace {

/// The job queue of a stream and the thread that runs it. The thread ends when it has been idle for
/// a while, or is told to; the stream's next job then starts another queue.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  /// Starts the thread, which calls `gone` when it ends.
  void start(std::function<void()> gone) {
    // Signals are handled by the threads of the application.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    auto restore = [](const sigset_t* mask) { pthread_sigmask(SIG_SETMASK, mask, nullptr); };
    const std::unique_ptr<const sigset_t, decltype(restore)> guard(&before, restore);
    std::thread([self = shared_from_this(), gone = std::move(gone)] {
      mark_engine_thread();
      self->loop();
      gone();
    }).detach();
  }

  /// False if work is queued or running.
  bool idle() {
    std::lock_guard lock(mutex_);
    return pending_ == 0;
  }
  /// False if the thread has ended; the job is then unchanged.
  bool push(std::function<void()>& job) {
    std::unique_lock lock(mutex_);
    // Bounded: every queued job keeps its memory alive.
    changed_.wait(lock, [&] { return pending_ < kDeepest; });
    if (ended_) return false;
    retired_ = false;
    jobs_.push_back(std::move(job));
    ++pending_;
    changed_.notify_all();
    return true;
  }
  /// Ends the thread once all jobs are done.
  void retire() {
    std::lock_guard lock(mutex_);
    retired_ = true;
    changed_.notify_all();
  }
  void drain() {
    BlockingRegion region;
    std::unique_lock lock(mutex_);
    wait_for(changed_, lock, [&] { return pending_ == 0; });
  }
  /// The same before a fork: keeps the program's lock and cannot fail.
  void drain_for_fork() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_ == 0; });
  }

 private:
  static constexpr int kDeepest = 64;
  static constexpr auto kLinger = std::chrono::seconds(2);
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait_for(lock, kLinger, [&] { return !jobs_.empty() || retired_; });
      if (jobs_.empty()) {
        ended_ = true;
        return;
      }
      {
        std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
      }  // resources of the job are freed before the stream counts as idle
      lock.lock();
      --pending_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  int pending_ = 0;
  bool retired_ = false, ended_ = false;
};
using QueueRef = std::shared_ptr<Queue>;

struct Queues {
  std::mutex mutex;
  std::map<int, QueueRef> by_stream;
};
Queues& queues() {
  static Queues* q = [] {
    auto* fresh = new Queues;
    // A child process has none of the threads: queues drain before the fork and restart in the
    // child.
    pthread_atfork(
        [] {
          Queues& all = queues();
          all.mutex.lock();
          for (auto& [index, q] : all.by_stream) q->drain_for_fork();
        },
        [] { queues().mutex.unlock(); },
        [] {
          Queues& all = queues();
          // Not destroyed: their threads do not exist in the child but appear to wait in them.
          new std::map<int, QueueRef>(std::move(all.by_stream));
          all.by_stream.clear();
          all.mutex.unlock();
        });
    return fresh;
  }();
  return *q;
}

/// Removes the queue of a stream from the table, unless it has been replaced.
void forget_queue(int stream, const Queue* queue) {
  Queues& all = queues();
  std::lock_guard lock(all.mutex);
  auto it = all.by_stream.find(stream);
  if (it != all.by_stream.end() && it->second.get() == queue) all.by_stream.erase(it);
}

QueueRef find_queue(int stream, bool create) {
  Queues& all = queues();
  std::lock_guard lock(all.mutex);
  auto it = all.by_stream.find(stream);
  if (it != all.by_stream.end()) return it->second;
  if (!create) return nullptr;
  auto queue = std::make_shared<Queue>();
  queue->start([stream, q = queue.get()] { forget_queue(stream, q); });
  return all.by_stream[stream] = std::move(queue);
}

/// The lowest address of this thread's stack, or 0 where it is not known.
uintptr_t stack_end() {
#if defined(__APPLE__)
  const auto highest = reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  return highest - pthread_get_stacksize_np(pthread_self());
#else
  pthread_attr_t attributes;
  void* lowest = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
  }
  return reinterpret_cast<uintptr_t>(lowest);
#endif
}

/// True if kernels, and the libraries that they call, may need more stack than this thread has
/// left: their work then runs on the stream's own thread.
bool has_little_stack() {
  constexpr uintptr_t kEnough = 1 << 20;
  thread_local constinit uintptr_t limit = 0;
  if (!limit) limit = stack_end() + kEnough;
  const char here = 0;
  return reinterpret_cast<uintptr_t>(&here) < limit;
}

/// The queues that a thread used: retired when it ends.
struct UsedQueues {
  SmallVector<int, 4> streams;
  void add(int stream) {
    if (std::find(streams.begin(), streams.end(), stream) == streams.end())
      streams.push_back(stream);
  }
  ~UsedQueues() {
    for (int stream : streams)
      if (QueueRef queue = find_queue(stream, false)) queue->retire();
  }
};
thread_local UsedQueues used;

}  // namespace

void submit(Stream s, std::function<void()> job) {
  BlockingRegion region;  // push waits while the queue is full
  used.add(s.index);
  for (;;) {
    QueueRef queue = find_queue(s.index, true);
    if (queue->push(job)) return;
    forget_queue(s.index, queue.get());
  }
}

bool runs_here(Stream s) {
  if (has_little_stack()) return false;
  QueueRef queue = find_queue(s.index, false);
  return !queue || queue->idle();
}

void drain(Stream s) {
  if (QueueRef queue = find_queue(s.index, false)) queue->drain();
}

}  // namespace mlx::core::cpu
