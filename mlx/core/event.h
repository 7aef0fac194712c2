// Completion of work: waits for it, and carries its error to whoever waits.
#pragma once

#include <atomic>
#include <exception>

#include "mlx/core/ref.h"

namespace mlx::core {

/// Signalled once, by the backend that finishes a launch. Waiting rethrows the launch's error.
class Event : public RefCounted {
 public:
  /// True once the work has finished, well or not.
  virtual bool done() const { return state_.load(std::memory_order_acquire) >= kDone; }
  /// Blocks the calling thread until done; rethrows the error of work that failed, or Interrupted.
  virtual void wait() {
    if (!done()) block();
    if (state_.load(std::memory_order_acquire) == kFailed) std::rethrow_exception(error_);
  }
  void signal() { finish(kDone); }
  void fail(std::exception_ptr e) {
    error_ = std::move(e);
    finish(kFailed);
  }
  bool failed() const { return state_.load(std::memory_order_acquire) == kFailed; }
  std::exception_ptr error() const { return failed() ? error_ : nullptr; }

 private:
  static constexpr int kPending = 0, kAwaited = 1, kDone = 2, kFailed = 3;
  void block();
  void finish(int state);
  std::atomic<int> state_{kPending};
  std::exception_ptr error_;
};

}  // namespace mlx::core
