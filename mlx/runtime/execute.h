// Phase 5: bind a plan to memory, publish its results, launch its segments.
#pragma once

#include "mlx/runtime/plan.h"

namespace mlx::core {

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
