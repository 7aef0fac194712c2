// Functions that control-flow steps run, prepared: their steps at addresses that are resolved once
// and of which each iteration moves those that change.
#pragma once

#include <memory>
#include <vector>

#include "mlx/backend/cpu/small_steps.h"
#include "mlx/backend/cpu/step_kernel.h"

namespace mlx::core::cpu {

/// A routine, prepared.
struct RoutineKernel {
  explicit RoutineKernel(const Routine& routine);

  /// A step that is not made of small calls.
  struct Entry {
    StepKernel kernel;
    size_t first_address;
    int first_constant;
    bool keeps;  ///< a program whose preparation is kept from one iteration to the next
    size_t at;   ///< it runs in front of this call
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
  SmallSteps small;
  std::vector<SmallCall> calls;
  std::vector<std::vector<Use>> inputs, outputs;  ///< uses of each
  std::vector<Use> arena;
  std::vector<std::pair<size_t, int>> constant_addresses;
  std::vector<Copy> copies;
  std::vector<Scalar> constants;
  size_t n_addresses = 0;
  int64_t bytes = 0;  ///< that a run reads and writes, roughly

 private:
  size_t add_address(const Routine::Place& place, int64_t offset);
  void add_step(const Routine& routine, const Step& step);
  void add_copy(const Routine::Copy& copy);
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
  void run_calls(size_t begin, size_t end);
  void run_entry(size_t entry);

  const RoutineKernel& kernel_;
  std::vector<void*> addresses_;
  std::unique_ptr<char[]> memory_;                   // of the small calls
  std::vector<std::unique_ptr<FusedRun>> programs_;  // per entry that keeps one
};

}  // namespace mlx::core::cpu
