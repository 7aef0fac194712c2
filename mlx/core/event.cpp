// The states of an event, and the threads that wait for them.
#include "mlx/core/event.h"

#include <algorithm>
#include <iterator>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/submitted.h"

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
  if (list_) list_->leave(*this);
  if (!work_) return;
  std::vector<Ref<Event>> list;
  release_work(list);
  while (!list.empty()) {
    const Ref<Event> next = std::move(list.back());
    list.pop_back();
    if (next->refs.load(std::memory_order_acquire) != 1 || !next->work_) continue;
    if (next->list_ && !next->list_->leave_unless_held(*next)) continue;
    next->release_work(list);
  }
}

/// Moves what the suspended work keeps of other work to a list.
void Event::release_work(std::vector<Ref<Event>>& list) {
  auto& before = work_->after();
  std::ranges::move(before, std::back_inserter(list));
  before.clear();
  if (first_) list.push_back(std::move(first_));
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

void Event::suspend(Stop why, std::unique_ptr<SuspendedWork> work) {
  std::lock_guard lock(mutex_);
  error_ = std::move(why.error);
  first_ = std::move(why.first);
  work_ = std::move(work);
  finish(State::suspended);
}

Stop Event::stopped() const {
  if (state() != State::suspended) return {};
  std::lock_guard lock(mutex_);
  if (state() != State::suspended) return {};
  return {error_, first_ ? first_ : Ref<Event>(const_cast<Event*>(this))};
}

/// The work that stopped, behind which this event's is suspended; null where it goes on.
Ref<Event> Event::first_stopped() const {
  std::lock_guard lock(mutex_);
  return state() == State::suspended && first_ && first_->suspended() ? first_ : Ref<Event>();
}

/// The suspended work that this event's suspended work comes after, the first one last.
std::vector<Ref<Event>> Event::suspended_before() {
  std::lock_guard lock(mutex_);
  std::vector<Ref<Event>> found;
  if (state() != State::suspended) return found;
  std::ranges::copy_if(work_->after(), std::back_inserter(found),
                       [](const Ref<Event>& e) { return e->suspended(); });
  std::ranges::reverse(found);
  return found;
}

/// Resumes suspended work, after the work that it comes after. The first that stopped is tried
/// alone: as long as it stops again, an attempt takes no longer for a long chain behind it.
void Event::go_on() {
  Ref<Event> first = first_stopped();
  while (Ref<Event> earlier = first ? first->first_stopped() : Ref<Event>())
    first = std::move(earlier);
  if (first) go_on({std::move(first)});
  go_on(suspended_before());
  resume();
}

/// Resumes what this event's work comes after, the last of the list first, each behind what itself
/// comes after: a list, since a chain may be longer than the stack. Throws the error of the first
/// work that stops again; the work behind it stays as it is.
void Event::go_on(std::vector<Ref<Event>> list) {
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
      if (!can_resume(std::current_exception())) continue;
      std::lock_guard lock(mutex_);
      if (state() == State::suspended) first_ = next;
      throw;
    }
  }
}

void Event::resume() {
  std::unique_ptr<SuspendedWork> work;
  {
    std::lock_guard lock(mutex_);
    if (state() != State::suspended) return;
    work = std::move(work_);
    first_ = {};
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

Stop stopped_before(const std::vector<Ref<Event>>& after, bool goes_on) {
  for (const auto& e : after) {
    e->wait_launched();
    if (!goes_on) {
      if (Stop stop = e->stopped()) return stop;
    } else if (e->suspended()) {
      try {
        e->wait();
      } catch (...) {
        // A final error is the error of the later work too.
        if (!can_resume(std::current_exception())) continue;
        Stop stop = e->stopped();
        return {std::current_exception(), stop ? stop.first : e};
      }
    }
  }
  return {};
}

}  // namespace mlx::core
