// Lists of submitted work: events that enter, leave when they are freed, and are waited for.
#include "mlx/core/submitted.h"

#include <map>
#include <utility>

namespace mlx::core {

namespace {

/// Errors of freed work that a list keeps: without `synchronize` they would collect without end.
constexpr size_t kMostGone = 64;

/// A reference to an event, or null where it is being freed.
Ref<Event> hold(Event& e) {
  uint32_t n = e.refs.load(std::memory_order_relaxed);
  while (n != 0)
    if (e.refs.compare_exchange_weak(n, n + 1, std::memory_order_acquire))
      return Ref<Event>::adopt(&e);
  return {};
}

}  // namespace

Submitted& Submitted::of(Stream stream) {
  static auto& mutex = *new std::mutex;
  static auto& lists = *new std::map<Stream, Submitted>;
  std::lock_guard lock(mutex);
  return lists[stream];
}

void Submitted::add(Event& end) {
  std::lock_guard lock(mutex_);
  if (end.list_) return;
  entries_.push_back({&end, {}, {}});
  end.list_ = this;
  end.entry_ = &entries_.back();
  end.entry_->self = std::prev(entries_.end());
}

void Submitted::erase(Event& end) {
  if (SubmittedEntry* entry = std::exchange(end.entry_, nullptr)) entries_.erase(entry->self);
}

void Submitted::leave(Event& end) {
  std::exception_ptr unseen = end.reported() ? nullptr : end.error();
  std::lock_guard lock(mutex_);
  if (!unseen || !end.entry_ || gone_ == kMostGone) return erase(end);
  ++gone_;
  end.entry_->end = nullptr;
  end.entry_->error = std::move(unseen);
}

bool Submitted::leave_unless_held(Event& end) {
  std::lock_guard lock(mutex_);
  if (end.refs.load(std::memory_order_acquire) != 1) return false;
  erase(end);
  return true;
}

/// The first work that is not being freed, or null. Throws the error of work before it that is
/// gone.
Ref<Event> Submitted::first() {
  std::unique_lock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->end) {
      const std::exception_ptr error = std::move(entry->error);
      --gone_;
      entries_.erase(entry);
      lock.unlock();
      std::rethrow_exception(error);
    }
    if (Ref<Event> end = hold(*entry->end)) return end;
  }
  return {};
}

void Submitted::settle() {
  auto erase_locked = [&](Event& end) {
    const std::lock_guard lock(mutex_);
    erase(end);
  };
  while (const Ref<Event> end = first()) {
    if (!end->done() && !end->suspended()) return;
    try {
      if (!end->failed() || !end->reported()) end->wait();
    } catch (...) {
      // Work that stopped again stays.
      if (!end->failed()) throw;
      end->set_reported();
      erase_locked(*end);
      throw;
    }
    erase_locked(*end);
  }
}

}  // namespace mlx::core
