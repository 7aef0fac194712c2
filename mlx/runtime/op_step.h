// Steps of single ops: their operands and results, the loops around them, and what their kernels
// want of both.
#pragma once

#include <span>
#include <vector>

#include "mlx/runtime/values.h"

namespace mlx::core {

/// True where a kernel that accepts such operands can read this one.
bool accepted(Accepts wish, const Layout& l);
/// Gives a result the memory order of an input of its shape that is dense.
void keep_order(const Layout& in, Layout& out);

inline std::span<const int> all_of(const SmallVector<int, 8>& v) { return {v.data(), v.size()}; }

/// An op's step while it is made.
struct OpStep {
  uint32_t item;
  Step step;
  SmallVector<int, 8> slots;
  std::vector<Location> results;
  Shape loop;  ///< the lengths of the loops around the op
  Requirements need;
  int64_t ticket = -1;  ///< the item of a collective's last input, a constant
};

class OpStepBuilder {
 public:
  OpStepBuilder(const Schedule& items, const Targets& targets, StepBuilder& steps,
                ValueTable& values)
      : items_(items), targets_(targets), steps_(steps), values_(values) {}

  /// The step of an op whose results have no memory yet.
  OpStep start(uint32_t item);
  /// Adds the slots of the results and of the workspace.
  void give_memory(OpStep& s);
  /// Adds the step, unless it runs at no position of its loop.
  void finish(OpStep& s);

 private:
  void add_operand(OpStep& s, uint32_t item, int stream);
  void add_outputs(OpStep& s, const Node& n);
  void add_routines(OpStep& s, const Target& target);
  void enter_loops(OpStep& s, const Node& n);
  void meet(Accepts wish, OpStep& s, size_t k, int stream);

  const Schedule& items_;
  const Targets& targets_;
  StepBuilder& steps_;
  ValueTable& values_;
};

}  // namespace mlx::core
