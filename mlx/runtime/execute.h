// Phase 5: bind a plan to memory, publish its results, launch its segments.
#pragma once

#include "mlx/runtime/plan.h"

namespace mlx::core {

/// The end of a launch. Launches are planned under a lock and handed to their backend after it: one
/// that depends on another thread's waits until that one has been handed over, since a queue in
/// which it came first would never get to the other.
class LaunchEvent final : public Event {
 public:
  void set_launched() {
    launched_.store(true, std::memory_order_release);
    launched_.notify_all();
  }
  void wait_launched() const { launched_.wait(false, std::memory_order_acquire); }

 private:
  std::atomic<bool> launched_{false};
};

/// A plan with its memory. Binding may throw and leaves the graph as it was; publishing does not
/// throw; running reports errors through the events.
struct Execution {
  std::shared_ptr<const Plan> plan;
  std::vector<Ref<Storage>> storages;  ///< per slot; null for temps and for slots within another
  SmallVector<int64_t, 8> starts;      ///< per leaf: where it starts in its storage, bytes
  std::vector<Ref<Storage>> arenas;    ///< per segment
  std::vector<Ref<Event>> done;        ///< per segment
  std::vector<std::vector<Scalar>> parameters;  ///< per segment; given to its launch
  std::vector<Ref<Event>> after;  ///< earlier writes of inputs that the plan takes over
  bool blocking = true;

  /// Allocates what the plan needs to run over the values of its leaves.
  static std::unique_ptr<Execution> bind(std::shared_ptr<const Plan> plan,
                                         std::span<const Value* const> leaves,
                                         std::vector<std::vector<Scalar>> parameters,
                                         bool blocking);
  /// The value of a result of elements of `itemsize` bytes.
  Value value(const Result& r, int itemsize) const;
  /// Where a slot starts in the storage that it lies in, bytes.
  int64_t start_of(int slot) const;
  /// Launches every segment. The only place that calls Backend::launch.
  void run();
};

}  // namespace mlx::core
