// The states of an event, and the threads that wait for them.
#include "mlx/core/event.h"

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {

/// Where threads wait for events: several events share a place, by their addresses.
struct WaitingPlace {
  std::mutex mutex;
  std::condition_variable changed;
};
WaitingPlace& place_of(const Event* event) {
  constexpr size_t kPlaces = 16;
  static auto* places = new WaitingPlace[kPlaces];
  return places[(reinterpret_cast<uintptr_t>(event) >> 6) % kPlaces];
}

}  // namespace

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
  finish(error_ ? State::failed : State::done);
  return true;
}

bool Event::done() const {
  State s = state();
  if (s == State::launched && completion_) return settle();
  return s == State::done || s == State::failed;
}

void Event::set_launched() {
  State expected = State::planned;
  if (state() == expected && state_.compare_exchange_strong(expected, State::launched)) notify();
}

void Event::notify() const {
  if (!awaited_.load()) return;
  WaitingPlace& place = place_of(this);
  std::lock_guard lock(place.mutex);
  place.changed.notify_all();
}

void Event::wait_while(State s, bool interruptible) const {
  BlockingRegion region;
  WaitingPlace& place = place_of(this);
  std::unique_lock lock(place.mutex);
  awaited_.exchange(true);  // an exchange, as in finish
  auto changed = [&] { return state_.load() != s; };
  if (interruptible)
    wait_for(place.changed, lock, changed);
  else
    place.changed.wait(lock, changed);
}

void Event::wait_launched() const {
  if (state() == State::planned) wait_while(State::planned, false);
}

// Either the waiter sees the new state, or this thread sees that somebody waits. An exchange keeps
// the following load behind it even on emulated Arm, where a store does not.
void Event::finish(State s) const {
  state_.exchange(s);
  notify();
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

std::exception_ptr Event::stopped() const {
  if (!suspended()) return nullptr;
  std::lock_guard lock(mutex_);
  return suspended() ? error_ : nullptr;
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
      default:
        if (s == State::launched && completion_) {
          BlockingRegion region;
          completion_->wait();
          settle();
        } else {
          wait_while(s, true);
        }
    }
  }
}

std::exception_ptr stopped_before(const std::vector<Ref<Event>>& after, bool goes_on) {
  for (const auto& e : after) {
    e->wait_launched();
    if (!goes_on) {
      if (std::exception_ptr error = e->stopped()) return error;
    } else if (e->suspended()) {
      try {
        e->wait();
      } catch (...) {
        // What failed for good fails whatever comes after.
        if (can_resume(std::current_exception())) return std::current_exception();
      }
    }
  }
  return nullptr;
}

}  // namespace mlx::core
