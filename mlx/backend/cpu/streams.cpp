#include "mlx/backend/cpu/streams.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "mlx/core/blocking.h"

namespace mlx::core::cpu {

namespace {

class Queue {
 public:
  Queue() : thread_([this] { loop(); }) { thread_.detach(); }

  /// False where work is queued or running.
  bool idle() {
    std::lock_guard lock(mutex_);
    return pending_ == 0;
  }
  void push(std::function<void()> job) {
    std::unique_lock lock(mutex_);
    // A producer that runs far ahead would hold the memory of everything it queued.
    changed_.wait(lock, [&] { return pending_ < kDeepest; });
    jobs_.push_back(std::move(job));
    ++pending_;
    changed_.notify_all();
  }
  void drain() {
    BlockingRegion region;
    std::unique_lock lock(mutex_);
    wait_for(changed_, lock, [&] { return pending_ == 0; });
  }
  /// The same for a fork, which keeps the program's lock and cannot fail.
  void drain_for_fork() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_ == 0; });
  }

 private:
  static constexpr int kDeepest = 64;
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      {
        std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
      }  // what the job kept alive goes before the stream counts as idle
      lock.lock();
      --pending_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  int pending_ = 0;
  std::thread thread_;
};

struct Queues {
  std::mutex mutex;
  std::map<int, Queue*> by_stream;
};
Queues& queues() {
  static Queues* q = [] {
    auto* fresh = new Queues;
    // A child has none of the threads: queues drain before the fork and start anew in the child.
    pthread_atfork(
        [] {
          Queues& all = queues();
          all.mutex.lock();
          for (auto& [index, q] : all.by_stream) q->drain_for_fork();
        },
        [] { queues().mutex.unlock(); },
        [] {
          Queues& all = queues();
          all.by_stream.clear();
          all.mutex.unlock();
        });
    return fresh;
  }();
  return *q;
}

Queue* find_queue(int stream, bool create) {
  Queues& all = queues();
  std::lock_guard lock(all.mutex);
  auto it = all.by_stream.find(stream);
  if (it != all.by_stream.end()) return it->second;
  return create ? all.by_stream.emplace(stream, new Queue).first->second : nullptr;
}

}  // namespace

void submit(Stream s, std::function<void()> job) { find_queue(s.index, true)->push(std::move(job)); }

bool is_idle(Stream s) {
  Queue* queue = find_queue(s.index, false);
  return !queue || queue->idle();
}

void drain(Stream s) {
  if (Queue* queue = find_queue(s.index, false)) queue->drain();
}

}  // namespace mlx::core::cpu
