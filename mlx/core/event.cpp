// The states of an event, and the threads that wait for them.
#include "mlx/core/event.h"

#include <algorithm>
#include <iterator>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {

/// A place at which threads wait for events: several events share one, by their addresses.
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

// A chain of suspended work is freed from a list: it may be longer than the stack.
Event::~Event() {
  if (!work_) return;
  std::vector<Ref<Event>> list = std::move(work_->after());
  while (!list.empty()) {
    const Ref<Event> next = std::move(list.back());
    list.pop_back();
    if (next->refs.load(std::memory_order_acquire) != 1 || !next->work_) continue;
    auto& before = next->work_->after();
    std::ranges::move(before, std::back_inserter(list));
    before.clear();
  }
}

std::unique_ptr<SuspendedWork> Completion::rest() { return nullptr; }

Event& Event::none() {
  static Event& over = []() -> Event& {
    auto* event = new Event;
    event->signal();
    return *event;
  }();
  return over;
}

bool Event::settle() const {
  if (!completion_ || !completion_->done()) return false;
  std::lock_guard lock(mutex_);
  if (state() != State::launched) return state() != State::planned && state() != State::suspended;
  error_ = completion_->error();
  if (error_ && (work_ = completion_->rest())) {
    finish(State::suspended);
    return false;
  }
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

// Either the waiter sees the new state, or this thread sees the waiter's mark. The exchange is a
// full barrier even on emulated Arm, where a store lets the following load pass.
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
  if (state() != State::suspended) return nullptr;
  std::lock_guard lock(mutex_);
  return state() == State::suspended ? error_ : nullptr;
}

/// The suspended work that this event's suspended work comes after.
std::vector<Ref<Event>> Event::suspended_before() {
  std::lock_guard lock(mutex_);
  std::vector<Ref<Event>> found;
  if (state() != State::suspended) return found;
  std::ranges::copy_if(work_->after(), std::back_inserter(found),
                       [](const Ref<Event>& e) { return e->suspended(); });
  return found;
}

/// Resumes suspended work, first the work that it comes after: a list, since a chain may be longer
/// than the stack. Throws the error of the first work that stops again; the work behind it stays as
/// it is.
void Event::go_on() {
  std::vector<Ref<Event>> list = suspended_before();
  while (!list.empty()) {
    const Ref<Event> next = list.back();
    const auto before = next->suspended_before();
    if (!before.empty()) {
      list.insert(list.end(), before.begin(), before.end());
      continue;
    }
    list.pop_back();
    next->resume();
    try {
      next->wait_first();
    } catch (...) {
      // An error that is final is that of the work behind it, too.
      if (can_resume(std::current_exception())) throw;
    }
  }
  resume();
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
        go_on();
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
        // A final error is the error of the later work too.
        if (can_resume(std::current_exception())) return std::current_exception();
      }
    }
  }
  return nullptr;
}

}  // namespace mlx::core
