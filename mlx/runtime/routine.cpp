// Plans the functions of control-flow ops.
#include "mlx/runtime/routine.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/runtime/assign.h"
#include "mlx/runtime/lower.h"
#include "mlx/runtime/passes.h"

namespace mlx::core {

namespace {

size_t aligned(size_t bytes) {
  return (bytes + kRoutineAlignment - 1) / kRoutineAlignment * kRoutineAlignment;
}

size_t array_bytes(const array& a) { return num_elements(a.shape()) * a.dtype().size(); }

/// The placeholders have values while the plan is made: row-contiguous memory, of which only the
/// layout matters.
class LaidOutInputs {
 public:
  LaidOutInputs(const Arrays& inputs, const Target& target) : inputs_(inputs) {
    const auto memory = make_ref<Storage>(target.backend->alloc(16, target.stream), size_t{16});
    for (const array& a : inputs_) a.node()->value = {memory, 0, row_major(a.shape())};
  }
  ~LaidOutInputs() {
    for (const array& a : inputs_) a.node()->value = {};
  }
  LaidOutInputs(const LaidOutInputs&) = delete;

 private:
  const Arrays& inputs_;
};

/// A function on its way through the passes, and its plan as a routine.
class Planning {
 public:
  Planning(const Subgraph& function, const Target& target) : function_(function), target_(target) {}

  Routine run() {
    routine_.space = target_.space;
    routine_.n_inputs = static_cast<int>(function_.inputs().size());
    routine_.n_outputs = static_cast<int>(function_.outputs().size());
    Arrays computed;
    NodeSet seen;
    for (const array& a : function_.inputs()) seen.emplace(a.node());
    for (const array& a : function_.outputs())
      if (!is_constant(a) && seen.emplace(a.node()).second) computed.push_back(a);
    if (!computed.empty()) make_plan(computed);
    for (size_t k = 0; k < function_.outputs().size(); ++k) add_output(static_cast<int>(k));
    if (!plan_.segments.empty()) take_steps(plan_.segments[0]);
    return std::move(routine_);
  }

 private:
  void make_plan(const Arrays& computed) {
    const LaidOutInputs laid_out(function_.inputs(), target_);
    Claims claims(Claims::next_age());
    schedule(computed, claims, items_, true);
    for (Item& item : items_) {
      if (!item.leaf) item.referenced = item.taped = false;
      item.donatable = false;
    }
    Targets targets;
    Groups groups;
    place_on(target_, items_, targets);
    fuse(items_, targets, groups, is_enabled(Pass::fuse));
    lower(items_, targets, groups, plan_);
    assign_memory(plan_, is_enabled(Pass::assign));
    if (plan_.segments.size() > 1)
      fail<ExecutionError>("control flow", plan_.segments.size(), " segments; one is accepted");
    for (size_t k = 0; k < plan_.results.size(); ++k)
      result_of_[items_[plan_.results[k].item].node] = static_cast<int>(k);
    if (!plan_.segments.empty()) arena_ = aligned(plan_.segments[0].arena_bytes);
    find_direct_outputs();
  }

  /// Results that fill memory of their own are written to the place of the output.
  void find_direct_outputs() {
    const auto& outputs = function_.outputs();
    for (size_t k = 0; k < outputs.size(); ++k) {
      const int* found = result_of_.find(outputs[k].node());
      if (!found) continue;
      const Result& r = plan_.results[*found];
      const int home = plan_.home_of(r.slot);
      const Slot &slot = plan_.slots[r.slot], &h = plan_.slots[home];
      const bool whole = h.kind == SlotKind::output && (home == r.slot || slot.home_offset == 0) &&
                         r.offset == 0 && h.bytes == array_bytes(outputs[k]) &&
                         is_row_contiguous(outputs[k].shape(), r.strides);
      if (whole && !is_direct(home)) direct_.push_back({home, static_cast<int>(k)});
    }
  }
  bool is_direct(int slot) const {
    return std::ranges::any_of(direct_, [&](const Direct& d) { return d.slot == slot; });
  }

  /// Where a slot begins. Outputs that are not written in place get memory of the arena.
  Routine::Place place_of(int index) {
    const Slot& slot = plan_.slots[index];
    const int home = plan_.home_of(index);
    const Slot& h = plan_.slots[home];
    const int64_t offset = slot.home < 0 ? 0 : slot.home_offset;
    if (h.kind == SlotKind::leaf) {
      const Node* n = items_[plan_.leaves[h.leaf]].node;
      const auto& inputs = function_.inputs();
      auto at = std::ranges::find_if(inputs, [&](const array& a) { return a.node() == n; });
      return {Routine::Place::input, static_cast<int>(at - inputs.begin()), offset};
    }
    for (const Direct& d : direct_)
      if (d.slot == home) return {Routine::Place::output, d.output, offset};
    if (h.kind == SlotKind::temp)
      return {Routine::Place::arena, 0, static_cast<int64_t>(h.arena_offset) + offset};
    stored_.resize(plan_.slots.size(), -1);
    if (stored_[home] < 0) {
      stored_[home] = static_cast<int64_t>(arena_);
      arena_ += aligned(h.bytes);
    }
    return {Routine::Place::arena, 0, stored_[home] + offset};
  }

  void add_output(int k) {
    const array& out = function_.outputs()[k];
    Layout layout{out.shape(), row_major(out.shape()), 0, out.dtype()};
    Routine::Place from;
    if (is_constant(out)) {
      from = {Routine::Place::constant, static_cast<int>(routine_.constants.size()), 0};
      routine_.constants.push_back(out.node()->scalar());
    } else if (const int* found = result_of_.find(out.node())) {
      const Result& r = plan_.results[*found];
      from = place_of(r.slot);
      layout.offset = r.offset;
      layout.strides = r.strides;
    } else {
      const auto& inputs = function_.inputs();
      auto at =
          std::ranges::find_if(inputs, [&](const array& a) { return a.node() == out.node(); });
      from = {Routine::Place::input, static_cast<int>(at - inputs.begin()), 0};
    }
    const bool in_place = from.kind == Routine::Place::output && from.index == k;
    if (!in_place && out.size() > 0) routine_.copies.push_back({k, from, std::move(layout)});
  }

  void take_steps(Segment& segment) {
    const int first_constant = static_cast<int>(routine_.constants.size());
    for (int slot : segment.slots) routine_.places.push_back(place_of(slot));
    for (uint32_t item : segment.constants)
      routine_.constants.push_back(items_[item].node->scalar());
    routine_.steps = std::move(segment.steps);
    for (Step& step : routine_.steps) step.first_constant += first_constant;
    routine_.arena_bytes = arena_;
  }

  struct Direct {
    int slot, output;
  };
  const Subgraph& function_;
  const Target& target_;
  Routine routine_;
  Schedule items_;
  Plan plan_;
  NodeMap<int> result_of_;  // by node, the number of its result
  std::vector<Direct> direct_;
  std::vector<int64_t> stored_;  // per slot: where its memory is in the arena, or -1
  size_t arena_ = 0;
};

}  // namespace

std::shared_ptr<const Routine> routine_of(const Subgraph& function, const Target& target) {
  return function.routine(target.space, [&] {
    return std::make_shared<const Routine>(Planning(function, target).run());
  });
}
std::shared_ptr<const Routine> host_routine_of(const Subgraph& function) {
  Backend& host = host_backend();
  return routine_of(function, {Stream(0, Device::cpu), &host, Space::host, host.caps(0)});
}

}  // namespace mlx::core
