// Completion of launches: waits for it, and carries its error to whoever waits.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/ref.h"

namespace mlx::core {

class Buffer;
class Event;

/// What a device knows of the end of a launch. Made by the backend.
struct MLX_API Completion : RefCounted {
  /// True where the work is over, well or not. Never blocks.
  virtual bool done() = 0;
  /// Blocks until the work is over, whose error it does not throw; hears interrupts as `wait_for`.
  virtual void wait() = 0;
  /// The error of work that is over, or null.
  virtual std::exception_ptr error() = 0;
  /// After an error: the buffers that do not hold what they should; null stands for all outputs.
  virtual std::vector<const Buffer*> unwritten() { return {nullptr}; }
};

/// Work that stopped half-way and can go on: for want of memory, or because its program interrupted
/// it. It owns what it needs, and not the event that it ends in.
struct MLX_API SuspendedWork {
  virtual ~SuspendedWork() = default;
  /// Goes on where the work stopped, on the calling thread or elsewhere. The event is like that of
  /// a fresh launch, which has not been handed over before this returns.
  virtual void resume(Event& end) = 0;
};

/// True for errors after which the same work can succeed: MemoryError and Interrupted.
bool can_resume(const std::exception_ptr& error);

/// The end of a launch. Launches are planned before they are handed to their backend: one that
/// depends on another thread's waits until that one has been handed over, since a queue in which it
/// came first would never get to the other.
class MLX_API Event : public RefCounted {
 public:
  /// True once the work has finished, well or not. Never blocks.
  bool done() const;
  /// Blocks the calling thread until done; rethrows the error of work that failed. Suspended work
  /// goes on first; where it stops again, its error is thrown. Throws Interrupted where the program
  /// ends the wait; what was waited for goes on.
  void wait() { wait(true); }
  /// Notes that the error has been thrown to the program.
  void set_reported() { reported_ = true; }
  bool reported() const { return reported_; }
  /// The same, but throws the error of suspended work at once: for whoever has just launched it.
  void wait_first() { wait(false); }

  bool failed() const { return done() && state() == State::failed; }
  bool suspended() const { return state() == State::suspended; }
  std::exception_ptr error() const { return failed() ? error_ : nullptr; }
  /// The error of suspended work, or null. Never blocks.
  std::exception_ptr stopped() const;
  /// True where the buffer holds what the launch should have written to it, though it failed.
  bool wrote(const Buffer* buffer) const {
    for (const Buffer* u : unwritten_)
      if (!u || u == buffer) return false;
    return true;
  }

  // --- for the engine and its backends

  /// Where the end is known by a device: before `set_launched`.
  void set_completion(Ref<Completion> c) { completion_ = std::move(c); }
  Completion* completion() const { return launched() ? completion_.get() : nullptr; }
  /// Says that the backend has the work. Nothing where it is over already.
  void set_launched();
  void wait_launched() const;

  void signal() { finish(State::done); }
  /// `unwritten`: the buffers that do not hold what they should; null stands for all outputs.
  void fail(std::exception_ptr error, std::vector<const Buffer*> unwritten);
  /// Keeps the work for those who wait later.
  void suspend(std::exception_ptr error, std::unique_ptr<SuspendedWork> work);

 private:
  enum class State : int { planned, launched, done, failed, suspended };
  State state() const { return state_.load(std::memory_order_acquire); }
  bool launched() const { return state() != State::planned; }
  void wait(bool resume);
  /// Blocks while the event is in a state; hears interrupts where it is told to.
  void wait_while(State state, bool interruptible) const;
  void finish(State state) const;
  void notify() const;
  /// Takes over what the completion says; true where it is over.
  bool settle() const;
  void resume();

  mutable std::atomic<State> state_{State::planned};
  mutable std::atomic<bool> awaited_{false};
  std::atomic<bool> reported_{false};
  mutable std::mutex mutex_;  ///< of the changes from the states launched and suspended
  mutable std::exception_ptr error_;
  mutable std::vector<const Buffer*> unwritten_;
  Ref<Completion> completion_;
  std::unique_ptr<SuspendedWork> work_;
};

/// Waits until work that other work comes after has been handed over. What was suspended goes on,
/// on this thread, if the caller waits for it. Where it does not, or stops again, the result is its
/// error, with which what comes after is suspended too: no queue ever holds work that waits for
/// what is not in a queue before it.
std::exception_ptr stopped_before(const std::vector<Ref<Event>>& after, bool goes_on);

}  // namespace mlx::core
