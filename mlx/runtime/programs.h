// Turns a fusion group into a program and its operands.
#pragma once

#include <optional>

#include "mlx/runtime/fuse.h"
#include "mlx/runtime/generators.h"
#include "mlx/runtime/layouts.h"
#include "mlx/runtime/values.h"

namespace mlx::core {

/// Lowers groups, one after another.
class ProgramBuilder {
 public:
  ProgramBuilder(const Schedule& items, const Targets& targets, const Groups& groups,
                 StepBuilder& steps, ValueTable& values)
      : items_(items), targets_(targets), groups_(groups), steps_(steps), values_(values) {}

  /// Starts a step: finds what the group reads, and writes its code. No outputs yet. The first
  /// operand is that item, if any, which the group reads element by element.
  Step start(const FusionGroup& group, std::optional<uint32_t> first = {});
  /// Slots of the step's operands so far.
  SmallVector<int, 8>& slots() { return slots_; }
  /// Adds an output for each member that is stored or read elsewhere; gives their items.
  SmallVector<uint32_t, 8> add_outputs(Step& step);
  /// The value of the group's root.
  uint16_t root_value() const { return static_cast<uint16_t>(member_values_.back()); }
  /// The layout of the root if it is stored.
  Layout root_layout(const Step& step);

 private:
  struct Input {
    uint32_t item, map;
  };

  /// A value that the program computes first: from the numbers of elements, or a cast.
  struct Generated {
    Instr code;
    Numbering numbering;
    int key[2];  ///< operands, or -1 - a constant: of random bits both, of a cast the first
    MemoryOrder order;
  };

  void find_inputs();
  int add_operand(Step& step, std::vector<Location>& constants, const Location& from,
                  const AxisMap& axes);
  int add_generated(Step& step, std::vector<Location>& constants, const Input& input);
  int add_generated(Generated g);
  Generated cast_of(Step& step, std::vector<Location>& constants, const Input& input);
  void lower_generated(Program& program);
  void lower_inputs(Step& step);
  int add_input(Step& step, const Location& from, const AxisMap& axes);
  int add_constant(std::vector<Location>& list, const Location& from) const;
  void lower_code(Program& program);
  void add_output(const Member& m, Step& step, const Strides& order);
  bool is_row_major(const Step& step) const;
  Strides output_strides(const Step& step);
  /// The position of an item among the group's members, or -1.
  int member_position(uint32_t item) const {
    return groups_.of[item] == id_ ? static_cast<int>(position_of_[item]) : -1;
  }
  bool read_outside(size_t position) const;
  const Shape& iteration() const { return items_[group_->root()].node->shape; }

  const Schedule& items_;
  const Targets& targets_;
  const Groups& groups_;
  StepBuilder& steps_;
  ValueTable& values_;

  // The group that is being lowered.
  const FusionGroup* group_ = nullptr;
  int id_ = 0, stream_ = 0;
  SmallVector<uint32_t, 32> position_of_;  // per item that is a member
  SmallVector<int, 8> slots_;
  SmallVector<uint32_t, 16> inside_uses_;  // per member, reads by other members
  SmallVector<Input, 16> inputs_;
  std::vector<AxisMap> maps_;
  SmallVector<int, 16> input_values_, member_values_;
  SmallVector<int, 16> generated_inputs_;  // per input, the entry of generated_ that it is, or -1
  std::vector<Generated> generated_;
  std::vector<MemoryOrder> orders_;
};

}  // namespace mlx::core
