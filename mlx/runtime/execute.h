// The passes bind, prepare and run: a plan gets its memory, its executables, and runs.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/inline_array.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

/// A plan with its memory. Binding may throw and leaves the graph as it was; later
/// stages report errors through the events.
struct MLX_API Execution {
  std::shared_ptr<const Plan> plan;
  /// The memory of a slot. Both are null for temps and for slots within another one.
  struct Memory {
    Ref<Storage> storage;
    Ref<Buffer> written;  ///< the replica that an output's segment writes
  };
  InlineArray<Memory, 4> memory;    ///< per slot
  SmallVector<int64_t, 8> starts;   ///< per leaf: where it starts in its storage, bytes
  InlineArray<Ref<Event>, 2> done;  ///< per segment
  std::vector<Scalar> constants;    ///< of all segments, one after another
  std::vector<Ref<Event>> after;    ///< earlier writes of inputs that the plan takes over
  bool blocking = true;

  explicit Execution(std::shared_ptr<const Plan> plan);
  Execution(const Execution&) = delete;
  /// Fails the events of what was never launched.
  ~Execution();

  /// Allocates what the plan needs to run over the values of its leaves.
  static std::unique_ptr<Execution> bind(std::shared_ptr<const Plan> plan,
                                         std::span<const Value* const> leaves,
                                         std::vector<Scalar> constants, bool blocking);
  /// The value of a result of elements of `itemsize` bytes.
  Value value(const Result& r, int itemsize) const;
  /// The first byte of a slot in the storage that contains it.
  int64_t start_of(int slot) const;

  /// Makes the executables, if the plan has none yet.
  void prepare();
  /// Launches every segment. The only place that calls Backend::launch.
  void run();
  /// Keeps the launches for later waiters, since the work before them was suspended for this
  /// error.
  void suspend(const std::exception_ptr& error);
  /// The error of a segment that was suspended while it ran, or null.
  std::exception_ptr suspended() const;

 private:
  Launch make_launch(size_t index);
  void launch(size_t index);
  void suspend_from(size_t index, const std::exception_ptr& error);
  void note_reads(size_t index);
  bool launched_ = false;
};

}  // namespace mlx::core
