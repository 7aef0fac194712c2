// Finds the units of rows among the steps of a plan.
#include "mlx/runtime/rows.h"

#include <algorithm>
#include <optional>

#include "mlx/runtime/row_unit.h"
#include "mlx/runtime/steps.h"

namespace mlx::core {

namespace {

/// Goes through the steps of a segment.
class RowFinder {
 public:
  RowFinder(Segment& seg, const Target& target, Plan& plan)
      : seg_(seg), target_(target), plan_(plan) {}

  /// True where there is a unit.
  bool run() {
    const std::vector<Step>& all = seg_.steps;
    if (std::ranges::none_of(all, [&](const Step& s) { return is_large(s, target_); }))
      return false;
    for (size_t i = 0; i < seg_.steps.size(); ++i) {
      Step& step = seg_.steps[i];
      const uint32_t in_place = seg_.in_place[i];
      if (unit_) {
        if (unit_->admits(step, false)) {
          unit_->add(step, in_place, false);
          continue;
        }
        if (unit_->may_wait_for(step)) {
          push(step, in_place);
          continue;
        }
        close(i);
      }
      if (!open(step, in_place)) push(step, in_place);
    }
    if (unit_) close(seg_.steps.size());
    seg_.steps = std::move(steps_);
    seg_.in_place = std::move(in_place_);
    return found_;
  }

 private:
  void push(Step& step, uint32_t in_place) {
    steps_.push_back(std::move(step));
    in_place_.push_back(in_place);
  }

  /// Starts a unit, also with programs before the step whose results it reads.
  bool open(Step& step, uint32_t in_place) {
    UnitBuilder unit(seg_, target_);
    if (!unit.start(step, in_place)) return false;
    while (!steps_.empty() && unit.admits(steps_.back(), true)) {
      unit.add(steps_.back(), in_place_.back(), true);
      steps_.pop_back();
      in_place_.pop_back();
    }
    unit_.emplace(std::move(unit));
    return true;
  }

  /// Ends the unit in front of step `next`.
  void close(size_t next) {
    if (!unit_->is_useful()) {
      unit_->release(steps_, in_place_);
    } else {
      found_ = true;
      uint32_t in_place = 0;
      Step step = unit_->finish([&](int b) { return is_inside(b, next); }, in_place);
      push(step, in_place);
    }
    unit_.reset();
  }

  /// True for a temporary that no step outside of the unit reads.
  bool is_inside(int binding, size_t next) const {
    const Slot& slot = plan_.slots[seg_.slots[binding]];
    return slot.kind == SlotKind::temp && !slot.crosses &&
           slot.last_step < seg_.first_step + static_cast<int>(next);
  }

  Segment& seg_;
  const Target& target_;
  Plan& plan_;
  std::optional<UnitBuilder> unit_;
  std::vector<Step> steps_;
  SmallVector<uint32_t, 4> in_place_;
  bool found_ = false;
};

}  // namespace

void find_rows(const Targets& targets, Plan& plan) {
  bool found = false;
  for (Segment& seg : plan.segments) {
    const Target& target = targets.of(seg.stream.index);
    if (target.caps.row_bytes == 0 || seg.steps.size() < 2) continue;
    found = RowFinder(seg, target, plan).run() || found;
  }
  if (found) find_lifetimes(plan);
}

}  // namespace mlx::core
