#include "mlx/core/event.h"

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"

namespace mlx::core {

bool can_resume(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const MemoryError&) {
    return true;
  } catch (const Interrupted&) {
    return true;
  } catch (...) {
    return false;
  }
}

bool Event::settle() const {
  if (!completion_ || !completion_->done()) return false;
  std::lock_guard lock(mutex_);
  if (state() != State::launched) return true;
  error_ = completion_->error();
  if (error_) unwritten_ = completion_->unwritten();
  state_.store(error_ ? State::failed : State::done, std::memory_order_release);
  state_.notify_all();
  return true;
}

bool Event::done() const {
  State s = state();
  if (s == State::launched && completion_) return settle();
  return s == State::done || s == State::failed;
}

void Event::set_launched() {
  State expected = State::planned;
  if (state_.compare_exchange_strong(expected, State::launched, std::memory_order_release))
    state_.notify_all();
}

void Event::wait_launched() const {
  if (state() != State::planned) return;
  BlockingRegion region;
  state_.wait(State::planned, std::memory_order_acquire);
}

void Event::finish(State s) {
  state_.store(s, std::memory_order_release);
  state_.notify_all();
}

void Event::fail(std::exception_ptr error, std::vector<const Buffer*> unwritten) {
  error_ = std::move(error);
  unwritten_ = std::move(unwritten);
  finish(State::failed);
}

void Event::suspend(std::exception_ptr error, std::unique_ptr<SuspendedWork> work) {
  std::lock_guard lock(mutex_);
  error_ = std::move(error);
  work_ = std::move(work);
  finish(State::suspended);
}

void Event::resume() {
  std::unique_ptr<SuspendedWork> work;
  {
    std::lock_guard lock(mutex_);
    if (state() != State::suspended) return;
    work = std::move(work_);
    finish(State::planned);
  }
  work->resume(*this);
  set_launched();
}

void Event::wait(bool may_resume) {
  for (State s = state();; s = state()) {
    switch (s) {
      case State::done:
        return;
      case State::failed:
        std::rethrow_exception(error_);
      case State::suspended:
        if (!may_resume) {
          std::unique_lock lock(mutex_);
          if (state() != State::suspended) break;
          std::exception_ptr error = error_;
          lock.unlock();
          std::rethrow_exception(error);
        }
        may_resume = false;
        resume();
        break;
      default: {
        BlockingRegion region;
        if (s == State::launched && completion_) {
          completion_->wait();
          settle();
        } else {
          state_.wait(s, std::memory_order_acquire);
        }
      }
    }
  }
}

}  // namespace mlx::core
