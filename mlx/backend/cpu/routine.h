// Functions that control-flow steps run, prepared: their steps at addresses that are resolved once
// and of which each iteration moves those that change.
#pragma once

#include <memory>
#include <vector>

#include "mlx/backend/cpu/step_kernel.h"

namespace mlx::core::cpu {

/// A routine, prepared.
struct RoutineKernel {
  explicit RoutineKernel(const Routine& routine);

  struct Entry {
    StepKernel kernel;
    size_t first_address;
    int first_constant;
    bool small;  ///< a program that one thread computes in a moment
  };
  /// An address `offset` bytes behind the begin of a place.
  struct Use {
    size_t address;
    int64_t offset;
  };
  struct Copy {
    size_t from, to;  ///< addresses
    Layout source, target;
    size_t bytes;  ///< where both lie alike: of all elements; else 0
  };
  std::vector<Entry> entries;
  std::vector<std::vector<Use>> inputs, outputs;  ///< uses of each
  std::vector<Use> arena;
  std::vector<std::pair<size_t, int>> constant_addresses;
  std::vector<Copy> copies;
  std::vector<Scalar> constants;
  size_t n_addresses = 0;
  int64_t bytes = 0;  ///< that a run reads and writes, roughly

 private:
  size_t add_address(const Routine::Place& place, int64_t offset);
};

/// A routine at addresses: runs any number of times, on one thread at a time.
class RoutineRun {
 public:
  /// `arena`: memory for the temporaries, `Routine::arena_bytes`.
  RoutineRun(const RoutineKernel& kernel, char* arena);
  ~RoutineRun();
  RoutineRun(const RoutineRun&) = delete;
  void set_input(size_t k, const void* data) { set(kernel_.inputs[k], data); }
  void set_output(size_t k, void* data) { set(kernel_.outputs[k], data); }
  void run();

 private:
  void set(const std::vector<RoutineKernel::Use>& uses, const void* data) {
    for (const RoutineKernel::Use& u : uses)
      addresses_[u.address] = static_cast<char*>(const_cast<void*>(data)) + u.offset;
  }
  void run_small(size_t entry);

  const RoutineKernel& kernel_;
  std::vector<void*> addresses_;
  std::vector<std::unique_ptr<FusedRun>> programs_;  // per entry that is small
};

}  // namespace mlx::core::cpu
