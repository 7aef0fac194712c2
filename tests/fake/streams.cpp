#include "streams.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

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
  bool is_open() {
    std::lock_guard lock(mutex);
    return held.empty();
  }
};
Gate& gate() {
  static auto& g = *new Gate;
  return g;
}

/// The jobs of a stream. Its thread starts with a job, and goes when there was none for a while.
class Queue {
 public:
  explicit Queue(int stream)
      : stream_(stream),
        random_(static_cast<unsigned>(setting("MLX_FAKE_SEED", 1) + 7919 * stream)) {}
  void push(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    ++submitted_;
    if (!running_) start();
    changed_.notify_all();
  }
  /// Waits for the end of what was submitted before; hears interrupts if told to.
  void drain(bool hears_interrupts) {
    std::unique_lock lock(mutex_);
    const uint64_t last = submitted_;
    auto over = [&] { return finished_ >= last; };
    if (hears_interrupts)
      wait_for(changed_, lock, over);
    else
      changed_.wait(lock, over);
  }

 private:
  static constexpr auto kLinger = std::chrono::seconds(1);
  void start() {
    // Signals are for the threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    running_ = true;
  }
  void loop() {
    on_stream = true;
    prctl(PR_SET_TIMERSLACK, 1000);  // ns: delays are as short as they are meant to be
    const long longest = setting("MLX_FAKE_DELAY", 30);  // microseconds
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!changed_.wait_for(lock, kLinger, [&] { return !jobs_.empty(); })) {
        running_ = false;
        return;
      }
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
  bool running_ = false;
};

struct Queues {
  std::mutex mutex;
  std::map<int, Queue*> by_stream;  // never destroyed: threads may be in them to the very end
};
Queues& queues() {
  static Queues* q = [] {
    auto* fresh = new Queues;
    // Borrowed kernels look at the CPU's streams, so that these are locked for a fork after the
    // work here has ended: handlers run from the latest one on.
    host_backend().synchronize(Stream(0, Device::cpu));
    // A child has none of the threads: work ends before the fork, and streams start anew in it.
    pthread_atfork(
        [] {
          queues().mutex.lock();
          if (gate().is_open())
            for (auto& [index, queue] : queues().by_stream) queue->drain(false);
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
  wait_for(changed_, lock, [&] { return done_; });
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
  if (Queue* queue = find_queue(s.index, false)) queue->drain(true);
}

void drain_all() {
  if (on_stream || !gate().is_open()) return;
  std::vector<Queue*> all;
  {
    std::lock_guard lock(queues().mutex);
    for (auto& [index, queue] : queues().by_stream) all.push_back(queue);
  }
  BlockingRegion region;
  for (Queue* queue : all) queue->drain(false);
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
