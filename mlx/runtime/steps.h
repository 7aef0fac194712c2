// Collects the steps of a plan into segments, and the slots that they read and write.
#pragma once

#include <span>

#include "mlx/runtime/place.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

/// Where a value is while a plan is made: a slot and a layout in it, or a constant.
struct Location {
  static constexpr int kConstant = -1;
  int slot = kConstant;
  Layout layout;
  uint32_t constant = 0;  ///< item of the constant
  bool is_constant() const { return slot == kConstant; }
};

/// Finds what outlives its step or its segment. Again where steps have been put together.
void find_lifetimes(Plan& plan);

/// Each stream has one segment that is open: steps go there. A segment whose results another one
/// reads is closed, so that the order in which they close is an order in which they can run, and
/// streams that do not exchange anything have one segment each.
class StepBuilder {
 public:
  /// `items`: of the schedule, more than there will be steps.
  StepBuilder(const Targets& targets, Plan& plan, size_t items)
      : targets_(targets), plan_(plan), items_(items) {
    plan.slots.reserve(kFew);
  }

  int add_slot(SlotKind kind, size_t bytes);
  Slot& slot(int i) { return plan_.slots[i]; }
  /// The place of an item's value among the constants of the stream's launch.
  int add_constant(int stream, uint32_t item);
  /// Adds a step whose operands are in `slots`. The outputs may take the memory of the inputs that
  /// `in_place` has a bit for.
  void add_step(int stream, Step&& step, std::span<const int> slots, uint32_t in_place);
  /// Adds a step that writes a row-contiguous array of a shape, or one repeated constant.
  Location add_copy(const Location& from, const Shape& shape, int stream);
  /// Puts the segments in order, and finds the lifetimes.
  void finish();

 private:
  static constexpr size_t kFew = 8;  ///< slots, which the first allocation holds
  struct Open {
    Segment segment;
    SmallVector<int, 16> binding_of;  // per slot, or -1
    bool closed = false;
  };
  Open& open(int stream);
  int bind(Open& open, int slot);
  void close_writer(int slot, const Open& reader);

  const Targets& targets_;
  Plan& plan_;
  const size_t items_;
  std::vector<std::unique_ptr<Open>> segments_;  // in the order in which they opened
  SmallVector<Open*, 4> closed_;                 // in the order in which they closed
  SmallVector<Open*, 16> writer_of_;             // per slot
};

}  // namespace mlx::core
