#include "streams.h"

#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "mlx/core/blocking.h"

namespace mlx::core::fake {

namespace {

constexpr int kAll = -2;
thread_local bool on_stream = false;

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

/// The streams that tests hold.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<int> held;

  bool holds(int stream) const { return held.contains(stream) || held.contains(kAll); }
  void pass(int stream) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !holds(stream); });
  }
};
Gate& gate() {
  static auto& g = *new Gate;
  return g;
}

class Queue {
 public:
  explicit Queue(int stream)
      : stream_(stream),
        random_(static_cast<unsigned>(setting("MLX_FAKE_SEED", 1) + 7919 * stream)) {
    std::thread([this] { loop(); }).detach();
  }
  void push(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    ++submitted_;
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    const uint64_t last = submitted_;
    changed_.wait(lock, [&] { return finished_ >= last; });
  }

 private:
  void loop() {
    on_stream = true;
    const long longest = setting("MLX_FAKE_DELAY", 30);  // microseconds
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      {
        std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        // Every other job starts at once: streams overtake each other.
        if (unsigned r = random_(); longest > 0 && r & 1)
          std::this_thread::sleep_for(std::chrono::microseconds((r >> 1) % longest));
        gate().pass(stream_);
        job();
      }
      lock.lock();
      ++finished_;
      changed_.notify_all();
    }
  }

  const int stream_;
  std::minstd_rand random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  uint64_t submitted_ = 0, finished_ = 0;
};

struct Queues {
  std::mutex mutex;
  std::map<int, Queue*> by_stream;
};
Queues& queues() {
  static Queues* q = [] {
    auto* fresh = new Queues;
    // A child has none of the threads: work ends before the fork, and streams start anew in it.
    pthread_atfork(
        [] {
          drain_all();
          queues().mutex.lock();
        },
        [] { queues().mutex.unlock(); },
        [] {
          queues().by_stream.clear();
          queues().mutex.unlock();
        });
    std::atexit([] {
      release();
      drain_all();
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
  return create ? all.by_stream.emplace(stream, new Queue(stream)).first->second : nullptr;
}

}  // namespace

bool StreamCompletion::done() {
  std::lock_guard lock(mutex_);
  return done_;
}
void StreamCompletion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
}
std::exception_ptr StreamCompletion::error() {
  std::lock_guard lock(mutex_);
  return error_;
}
std::vector<const Buffer*> StreamCompletion::unwritten() {
  std::lock_guard lock(mutex_);
  return unwritten_;
}
void StreamCompletion::finish(std::exception_ptr error, std::vector<const Buffer*> unwritten) {
  std::lock_guard lock(mutex_);
  done_ = true;
  error_ = std::move(error);
  unwritten_ = std::move(unwritten);
  changed_.notify_all();
}

void submit(Stream s, std::function<void()> job) {
  find_queue(s.index, true)->push(std::move(job));
}

void drain(Stream s) {
  BlockingRegion region;
  if (Queue* queue = find_queue(s.index, false)) queue->drain();
}

void drain_all() {
  if (on_stream) return;
  {
    std::lock_guard lock(gate().mutex);
    if (!gate().held.empty()) return;
  }
  std::vector<Queue*> all;
  {
    std::lock_guard lock(queues().mutex);
    for (auto& [index, queue] : queues().by_stream) all.push_back(queue);
  }
  BlockingRegion region;
  for (Queue* queue : all) queue->drain();
}

void hold(int stream) {
  std::lock_guard lock(gate().mutex);
  gate().held.insert(stream);
}
void release() {
  std::lock_guard lock(gate().mutex);
  gate().held.clear();
  gate().changed.notify_all();
}

}  // namespace mlx::core::fake
