// Events: the end of a launch, for which threads wait, and its error, which every wait rethrows.
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
class Submitted;
struct SubmittedEntry;
struct SuspendedWork;

/// The end of a launch as its device reports it. Made by the backend.
struct MLX_API Completion : RefCounted {
  /// True where the work is over, well or not. Never blocks.
  virtual bool done() = 0;
  /// True once the work is past where it may be suspended.
  virtual bool begun() { return done(); }
  /// Blocks until the work is over, whose error it does not throw; throws Interrupted like
  /// `wait_for`.
  virtual void wait() = 0;
  /// The error of work that is over, or null.
  virtual std::exception_ptr error() = 0;
  /// The buffers that the work did not write because of its error; null stands for all outputs.
  virtual std::vector<const Buffer*> unwritten() { return {nullptr}; }
  /// After an error with which the work can go on: the rest of it, once. Null where it has failed.
  virtual std::unique_ptr<SuspendedWork> rest();
};

/// Work that stopped half-way and can go on: memory did not suffice, or the program interrupted it.
/// It owns its operands, and not the event of its end.
struct MLX_API SuspendedWork {
  virtual ~SuspendedWork() = default;
  /// The ends of other work that this comes after.
  virtual std::vector<Ref<Event>>& after() = 0;
  /// Goes on where the work stopped, on the calling thread or elsewhere, once nothing that it comes
  /// after is suspended. The event is like that of a fresh launch, which has not been handed over
  /// before this returns.
  virtual void resume(Event& end) = 0;
};

/// Why work is suspended: its own error, or that of work which it comes after.
struct Stop {
  std::exception_ptr error;
  Ref<Event> first = {};  ///< the end of the work that stopped; null: of the work itself
  explicit operator bool() const { return error != nullptr; }
};

/// True for errors after which the same work can succeed: MemoryError and Interrupted.
MLX_API bool can_resume(const std::exception_ptr& error);

/// The end of a launch. Launches are planned before they are handed to their backend: one that
/// depends on another thread's waits until that one has been handed over, since a queue in which it
/// came first would never get to the other.
class MLX_API Event : public RefCounted {
 public:
  Event() = default;
  Event(const Event&) = delete;
  ~Event() override;
  /// True once the work has finished, well or not. Never blocks.
  bool done() const;
  /// Blocks the calling thread until done; rethrows the error of work that failed. Suspended work
  /// goes on first; where it stops again, its error is thrown. Throws Interrupted where the program
  /// ends the wait: launches go on, long loops stop, and a later wait resumes them.
  void wait() { wait(true); }
  /// True where the event is the end of a launch, and not that of an array that no work writes.
  bool valid() const { return this != &none(); }
  /// The same as `done`.
  bool is_signaled() const { return done(); }
  /// An event that is over, of no launch.
  static Event& none();
  /// Notes that the error has been thrown to the program.
  void set_reported() { reported_ = true; }
  bool reported() const { return reported_; }
  /// The same for the thread that has just launched the work: the error of suspended work is thrown
  /// at once.
  void wait_first() { wait(false); }

  bool failed() const { return done() && state() == State::failed; }
  bool suspended() const { return !done() && state() == State::suspended; }
  std::exception_ptr error() const { return failed() ? error_ : nullptr; }
  /// Why the work is suspended, for work that comes after it; none where it is not. Never blocks.
  Stop stopped() const;
  /// True where the launch wrote the buffer completely, though it failed.
  bool wrote(const Buffer* buffer) const {
    for (const Buffer* u : unwritten_)
      if (!u || u == buffer) return false;
    return true;
  }

  // --- for the engine and its backends

  /// Sets the completion by which a device reports the end; called before `set_launched`.
  void set_completion(Ref<Completion> c) { completion_ = std::move(c); }
  Completion* completion() const { return launched() ? completion_.get() : nullptr; }
  /// Records that the backend has the work; does nothing where the work is over already.
  void set_launched();
  void wait_launched() const;

  void signal() { finish(State::done); }
  /// Records the error of the work; `unwritten` as in Completion.
  void fail(std::exception_ptr error, std::vector<const Buffer*> unwritten);
  /// Keeps the work for later waiters, of which one resumes it.
  void suspend(Stop why, std::unique_ptr<SuspendedWork> work);

 private:
  friend class Submitted;
  enum class State : int { planned, launched, done, failed, suspended };
  State state() const { return state_.load(std::memory_order_acquire); }
  bool launched() const { return state() != State::planned; }
  void wait(bool resume);
  /// Blocks while the event is in a state; throws Interrupted where it is `interruptible`.
  void wait_while(State state, bool interruptible) const;
  void finish(State state) const;
  void notify() const;
  /// Takes over the state of the completion; true where the work is over.
  bool settle() const;
  std::vector<Ref<Event>> suspended_before();
  Ref<Event> first_stopped() const;
  void release_work(std::vector<Ref<Event>>& list);
  void resume();
  void go_on();
  void go_on(std::vector<Ref<Event>> list);

  mutable std::atomic<State> state_{State::planned};
  mutable std::atomic<bool> awaited_{false};
  std::atomic<bool> reported_{false};
  mutable std::mutex mutex_;  ///< of the changes from the states launched and suspended
  mutable std::exception_ptr error_;
  mutable std::vector<const Buffer*> unwritten_;
  Ref<Completion> completion_;
  mutable std::unique_ptr<SuspendedWork> work_;
  Ref<Event> first_;           ///< of suspended work: the work that stopped, where it is another
  Submitted* list_ = nullptr;  ///< of asynchronous work
  SubmittedEntry* entry_ = nullptr;  ///< in the list, whose lock is for this
};

/// Waits until the work before other work has been handed over. Suspended work is resumed on this
/// thread if `goes_on`. Where it is not, or stops again, the result says so, and the later work is
/// suspended too: a queue never holds work that waits for work in no queue.
MLX_API Stop stopped_before(const std::vector<Ref<Event>>& after, bool goes_on);

}  // namespace mlx::core
