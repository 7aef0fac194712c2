// The pass `lower`: ops and fusion groups become steps, views become layouts.
#include "mlx/runtime/lower.h"

#include <algorithm>
#include <map>

#include "mlx/core/fill.h"
#include "mlx/runtime/op_step.h"
#include "mlx/runtime/programs.h"
#include "mlx/runtime/recompute.h"

namespace mlx::core {

namespace {

bool repeats(const Layout& l) {
  for (size_t k = 0; k < l.shape.size(); ++k)
    if (l.shape[k] > 1 && l.strides[k] == 0) return true;
  return false;
}

/// A view of one element with all strides 0.
Location repeated(Location one, const Shape& shape) {
  one.layout.shape = shape;
  one.layout.strides = Strides(shape.size(), 0);
  return one;
}

/// Inputs whose elements lie exactly as the outputs' do.
uint32_t same_layout_inputs(const Step& step) {
  uint32_t mask = 0;
  const Layout& out = step.operands[step.n_inputs];
  for (int k = 0; k < step.n_inputs && k < 32; ++k) {
    bool same = true;
    for (size_t d = 0; d < out.shape.size(); ++d)
      same = same && (out.shape[d] == 1 || step.operands[k].strides[d] == out.strides[d]);
    if (same) mask |= 1u << k;
  }
  return mask;
}

class Lowering {
 public:
  Lowering(const Schedule& items, const Targets& targets, const Groups& groups, Plan& plan)
      : items_(items),
        targets_(targets),
        groups_(groups),
        plan_(plan),
        steps_(targets, plan, items.size()),
        values_(items, steps_, plan),
        programs_(items, targets, groups, steps_, values_),
        ops_(items, targets, steps_, values_) {}

  void run() {
    for (uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.leaf || (!groups_.computed_inside.empty() && groups_.computed_inside[i])) continue;
      const OpKind kind = item.node->op->kind;
      if (groups_.of[i] >= 0) {
        const FusionGroup& group = groups_.list[groups_.of[i]];
        if (group.root() == i && (waiting_.contains(groups_.of[i]) || !waits_for_consumers(group)))
          add_group(group);
      } else if (kind == OpKind::kernel || kind == OpKind::bundle) {
        add_op(i);
      }
    }
    store_views();
    steps_.finish();
  }

 private:
  void add_group(const FusionGroup& group) {
    const Node& root = *items_[group.root()].node;
    auto waiting = waiting_.find(groups_.of[group.root()]);
    OpStep* op = waiting == waiting_.end() ? nullptr : &waiting->second;
    if (op) ops_.give_memory(*op);
    Step step = programs_.start(group, op ? std::optional(op->item) : std::nullopt);
    const auto stored = programs_.add_outputs(step);
    if (!op || !add_with_epilogue(*op, step)) {
      if (op) ops_.finish(*op);
      uint32_t in_place = same_layout_inputs(step);
      if (num_elements(root.shape) > 0)
        steps_.add_step(root.stream, std::move(step), all_of(programs_.slots()), in_place);
    }
    for (uint32_t i : stored) store(i);
  }

  // --- epilogues

  /// True where a group may be applied to the op's result: the op then has its step at the place of
  /// the group. One op a group, the first.
  bool waits_for_group(const OpStep& op) const {
    if (!op.need.epilogue || groups_.epilogue_of.empty()) return false;
    const int group = groups_.epilogue_of[op.item];
    return group >= 0 && !waiting_.contains(group);
  }

  /// Adds the op and the program of the group that reads its result, which is the program's first
  /// input, as one step. False where the backend does not fuse them; they are then two steps.
  bool add_with_epilogue(const OpStep& op, const Step& group) {
    const Node& n = *items_[op.item].node;
    const Target& target = targets_.of(n.stream);
    const auto& program_slots = programs_.slots();
    Step step = op.step;
    step.operands.erase(step.operands.begin() + step.n_inputs);  // the result
    SmallVector<int, 8> slots(op.slots.begin(), op.slots.begin() + step.n_inputs);
    step.epilogue = step.n_inputs;
    step.program = group.program;
    step.first_constant = group.first_constant;
    const auto own_inputs = step.operands.begin() + step.n_inputs;
    step.operands.insert(own_inputs, group.operands.begin() + 1, group.operands.end());
    slots.insert(slots.end(), program_slots.begin() + 1, program_slots.end());
    step.n_inputs += group.n_inputs - 1;
    if (step.workspace >= 0) {
      step.workspace = static_cast<int>(slots.size());
      slots.push_back(op.slots[op.step.workspace]);
    }
    if (!target.backend->fuses_epilogue(step, target.stream.device.index)) return false;
    uint32_t in_place = step.epilogue < 32 ? same_layout_inputs(group) >> 1 << step.epilogue : 0;
    steps_.add_step(n.stream, std::move(step), all_of(slots), in_place);
    return true;
  }

  // --- prologues

  Requirements needs_of(uint32_t consumer) const {
    const Node& n = *items_[consumer].node;
    return needs_of_reader(n, targets_.of(n.stream));
  }

  /// True where the ops that read the group may compute it: their steps decide.
  bool waits_for_consumers(const FusionGroup& group) const {
    return !group.consumers.empty() &&
           std::ranges::all_of(group.consumers, [&](uint32_t i) { return needs_of(i).prologue; });
  }

  /// A step of an op that computes its input as it reads. False where the backend does not fuse
  /// them; the group is then another step.
  bool add_with_prologue(uint32_t i) {
    const Node& n = *items_[i].node;
    auto in = n.inputs();
    int id = in.size() == 1 ? groups_.of[item_index(in[0])] : -1;
    if (id < 0) return false;
    const FusionGroup& group = groups_.list[id];
    const auto& consumers = group.consumers;
    const bool mine = std::find(consumers.begin(), consumers.end(), i) != consumers.end();
    if (!mine || values_.has(group.root())) return false;
    const Requirements need = needs_of(i);
    if (!need.prologue) return false;
    const Target& target = targets_.of(n.stream);
    Step step = programs_.start(group);
    step.op = n.op;
    step.attrs = n.attrs;
    step.origin = n.origin;
    step.program.outputs = {programs_.root_value()};
    Layout out = dense_layout(n.shape, n.dtype);
    // As if the input were stored, and copied where the kernel cannot read its layout.
    if (need.keeps_order)
      if (Layout in = programs_.root_layout(step);
          need.inputs.empty() || accepted(need.inputs[0], in))
        keep_order(in, out);
    step.operands.push_back(out);
    if (need.workspace) {
      step.workspace = static_cast<int>(step.operands.size());
      step.operands.push_back(dense_layout({static_cast<int64_t>(need.workspace)}, uint8));
    }
    if (!target.backend->fuses_prologue(step, target.stream.device.index)) {
      add_group(group);
      return false;
    }
    int slot = steps_.add_slot(SlotKind::temp, num_elements(n.shape) * n.dtype.size());
    programs_.slots().push_back(slot);
    if (need.workspace)
      programs_.slots().push_back(steps_.add_slot(SlotKind::temp, need.workspace));
    values_.set(i, {.slot = slot, .layout = std::move(out)});
    steps_.add_step(n.stream, std::move(step), all_of(programs_.slots()), 0);
    store(i);
    return true;
  }

  // --- ops

  void add_op(uint32_t i) {
    if (add_with_prologue(i)) return;
    OpStep s = ops_.start(i);
    if (waits_for_group(s)) {
      waiting_.emplace(groups_.epilogue_of[i], std::move(s));
      return;
    }
    ops_.give_memory(s);
    ops_.finish(s);
    store(i);
  }

  // --- results

  /// Records where a stored item ends up.
  void store(uint32_t i) {
    const Node& n = *items_[i].node;
    if (!items_[i].stored()) return;
    if (n.parts) {
      for (size_t k = 0; k < n.parts->size(); ++k)
        add_result(i, static_cast<int>(k), values_.at(i, static_cast<int>(k)));
    } else {
      add_result(i, -1, values_.at(i));
    }
  }

  void add_result(uint32_t item, int part, const Location& l) {
    Slot& slot = steps_.slot(l.slot);
    if (slot.kind == SlotKind::temp) slot.kind = SlotKind::output;
    slot.donatable = false;
    plan_.results.push_back({item, part, l.slot, l.layout.offset, l.layout.strides});
  }

  /// Stored views and parts take no step of their own, unless they promise memory for each element.
  void store_views() {
    for (uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      const Node& n = *item.node;
      if (item.leaf || !item.stored() || groups_.of[i] >= 0) continue;
      if (n.op->kind != OpKind::view && n.op->kind != OpKind::part) continue;
      Location l = values_.resolve(i, n.stream);
      if (l.is_constant() && !item.requested) continue;  // as cheap to describe as to store
      if (item.requested && (must_release_memory(n) ||
                             (has_distinct_elements(n) && (l.is_constant() || repeats(l.layout)))))
        l = steps_.add_copy(l, n.shape, n.stream);
      else if (l.is_constant())
        l = repeated(steps_.add_copy(l, {}, n.stream), n.shape);
      add_result(i, -1, l);
    }
  }

  const Schedule& items_;
  const Targets& targets_;
  const Groups& groups_;
  Plan& plan_;
  StepBuilder steps_;
  ValueTable values_;
  ProgramBuilder programs_;
  OpStepBuilder ops_;
  std::map<int, OpStep> waiting_;  // by the group that may be applied to the op's result
};

}  // namespace

void lower(const Schedule& items, const Targets& targets, const Groups& groups, Plan& plan) {
  Lowering(items, targets, groups, plan).run();
}

}  // namespace mlx::core
