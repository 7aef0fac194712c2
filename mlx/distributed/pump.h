// A thread that goes on with work between messages.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace mlx::core::distributed {

/// Calls a function under a mutex, whenever the mutex is free, until it returns false; `start`
/// makes it begin again. The function must not throw.
class Pump {
 public:
  Pump(std::mutex& mutex, std::function<bool()> work) : mutex_(mutex), work_(std::move(work)) {}
  ~Pump() { stop(); }
  Pump(const Pump&) = delete;

  /// Called under the mutex.
  void start() {
    set_busy(true);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  /// Ends the thread. Not called under the mutex.
  void stop() {
    stopped_ = true;
    set_busy(true);
    if (thread_.joinable()) thread_.join();
  }

 private:
  void set_busy(bool on) {
    busy_ = on;
    if (on) busy_.notify_one();
  }
  void run() {
    // Signals are handled by the threads of the application.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (!stopped_) {
      busy_.wait(false);
      if (const std::unique_lock lock(mutex_, std::try_to_lock); lock && !stopped_) busy_ = work_();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  std::mutex& mutex_;
  const std::function<bool()> work_;
  std::thread thread_;
  std::atomic<bool> busy_{false}, stopped_{false};
};

}  // namespace mlx::core::distributed
