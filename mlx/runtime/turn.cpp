// Turns of communication.
#include "mlx/runtime/turn.h"

#include <map>
#include <mutex>
#include <utility>

namespace mlx::core {

namespace {

/// A turn behind suspended work.
class SuspendedTurn final : public SuspendedWork {
 public:
  explicit SuspendedTurn(Ref<Event> earlier) { after_.push_back(std::move(earlier)); }
  std::vector<Ref<Event>>& after() override { return after_; }
  void resume(Event& end) override { end.signal(); }

 private:
  std::vector<Ref<Event>> after_;
};

/// A turn behind work in flight.
class Turn final : public Completion {
 public:
  explicit Turn(Ref<Event> earlier) : earlier_(std::move(earlier)) {}
  bool done() override {
    if (earlier_->done() || earlier_->suspended()) return true;
    Completion* const c = earlier_->completion();
    return c && c->begun();
  }
  void wait() override {
    try {
      earlier_->wait_first();
    } catch (...) {
      if (!done()) throw;
    }
  }
  std::exception_ptr error() override { return earlier_->stopped().error; }
  std::unique_ptr<SuspendedWork> rest() override {
    return std::make_unique<SuspendedTurn>(earlier_);
  }

 private:
  const Ref<Event> earlier_;
};

}  // namespace

Ref<Event> take_turn(Stream stream, const Ref<Event>& end) {
  static auto& mutex = *new std::mutex;
  static auto& last = *new std::map<Stream, Ref<Event>>;
  Ref<Event> earlier;
  {
    const std::lock_guard lock(mutex);
    earlier = std::exchange(last[stream], end);
  }
  if (!earlier || earlier->done()) return {};
  auto turn = make_ref<Event>();
  if (Stop stop = earlier->stopped()) {
    turn->suspend(std::move(stop), std::make_unique<SuspendedTurn>(earlier));
  } else {
    turn->set_completion(make_ref<Turn>(earlier));
    turn->set_launched();
  }
  return turn;
}

}  // namespace mlx::core
