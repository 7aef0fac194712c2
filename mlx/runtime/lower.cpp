#include "mlx/runtime/lower.h"

#include <algorithm>

#include "mlx/runtime/programs.h"

namespace mlx::core {

namespace {

/// True where a kernel that accepts such operands can read this one.
bool accepted(Accepts wish, const Layout& l) {
  const size_t rank = l.shape.size();
  switch (wish) {
    case Accepts::any:
      return true;
    case Accepts::rows:
      return is_row_contiguous(l.shape, l.strides);
    case Accepts::dense:
      return is_dense(l.shape, l.strides);
    default: {
      if (rank < 2) return rank == 0 || l.shape[0] <= 1 || l.strides[0] == 1;
      int64_t m = l.shape[rank - 2], n = l.shape[rank - 1];
      int64_t row = l.strides[rank - 2], column = l.strides[rank - 1];
      return ((column == 1 || n <= 1) && (row >= n || m <= 1)) ||
             ((row == 1 || m <= 1) && (column >= m || n <= 1));
    }
  }
}

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

/// True if one of the views that the node consists of has memory for each element.
bool has_distinct_elements(const Node& node) {
  for (const Node* n = &node; n->op->kind == OpKind::view; n = n->inputs()[0]) {
    if (n->op->distinct) return true;
    if (n->status == Status::available) break;
  }
  return false;
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

std::span<const int> all_of(const SmallVector<int, 8>& v) { return {v.data(), v.size()}; }

class Lowering {
 public:
  Lowering(const Schedule& items, const Targets& targets, const Groups& groups, Plan& plan)
      : items_(items),
        targets_(targets),
        groups_(groups),
        plan_(plan),
        steps_(targets, plan),
        values_(items, steps_, plan),
        programs_(items, targets, groups, steps_, values_) {}

  void run() {
    for (uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.leaf || (!groups_.computed_inside.empty() && groups_.computed_inside[i])) continue;
      const OpKind kind = item.node->op->kind;
      if (groups_.of[i] >= 0) {
        const FusionGroup& group = groups_.list[groups_.of[i]];
        if (group.root() == i && !waits_for_consumer(group)) add_group(group);
      } else if (kind == OpKind::kernel || kind == OpKind::bundle) {
        add_op(i);
      }
    }
    store_views();
    steps_.finish();
  }

 private:
  /// An op's step while it is made.
  struct OpStep {
    Step step;
    SmallVector<int, 8> slots;
    Shape loop;  // the lengths of the loops around the op
  };

  void add_group(const FusionGroup& group) {
    const Node& root = *items_[group.root()].node;
    Step step = programs_.start(group);
    std::vector<uint32_t> stored = programs_.add_outputs(step);
    uint32_t in_place = same_layout_inputs(step);
    if (num_elements(root.shape) > 0)
      steps_.add_step(root.stream, std::move(step), all_of(programs_.slots()), in_place);
    for (uint32_t i : stored) store(i);
  }

  // --- prologues

  Requirements find(const Node& n, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs) const {
    const Target& t = targets_.of(n.stream);
    return t.backend->find(*n.op, attrs, operands, n_inputs, t.stream.device.index);
  }

  /// What the one op that reads the group wants.
  Requirements consumer_needs(const FusionGroup& group) const {
    const Node &n = *items_[group.consumer].node, &root = *items_[group.root()].node;
    const Layout operands[] = {dense_layout(root.shape, root.dtype),
                               dense_layout(n.shape, n.dtype)};
    return find(n, n.attrs.get(), operands, 1);
  }
  /// True where that op may compute the group: its step decides.
  bool waits_for_consumer(const FusionGroup& group) const {
    return group.consumer >= 0 && num_elements(items_[group.root()].node->shape) > 0 &&
           consumer_needs(group).prologue;
  }

  /// A step of an op that computes its input as it reads. False where the backend does not fuse
  /// them; the group is then a step of its own.
  bool add_with_prologue(uint32_t i) {
    const Node& n = *items_[i].node;
    auto in = n.inputs();
    int id = in.size() == 1 ? groups_.of[item_index(in[0])] : -1;
    if (id < 0) return false;
    const FusionGroup& group = groups_.list[id];
    if (group.consumer != static_cast<int>(i) || !waits_for_consumer(group)) return false;
    const Target& target = targets_.of(n.stream);
    Step step = programs_.start(group);
    step.op = n.op;
    step.attrs = n.attrs;
    step.origin = n.origin;
    step.program.outputs = {programs_.root_value()};
    Layout out = dense_layout(n.shape, n.dtype);
    step.operands.push_back(out);
    if (!target.backend->fuses_prologue(step, target.stream.device.index)) {
      add_group(group);
      return false;
    }
    int slot = steps_.add_slot(SlotKind::temp, num_elements(n.shape) * n.dtype.size());
    programs_.slots().push_back(slot);
    if (const size_t workspace = consumer_needs(group).workspace) {
      step.workspace = static_cast<int>(step.operands.size());
      step.operands.push_back(dense_layout({static_cast<int64_t>(workspace)}, uint8));
      programs_.slots().push_back(steps_.add_slot(SlotKind::temp, workspace));
    }
    values_.set(i, {.slot = slot, .layout = std::move(out)});
    steps_.add_step(n.stream, std::move(step), all_of(programs_.slots()), 0);
    store(i);
    return true;
  }

  // --- ops

  void add_op(uint32_t i) {
    if (add_with_prologue(i)) return;
    const Node& n = *items_[i].node;
    OpStep s;
    s.step.op = n.op;
    s.step.attrs = n.attrs;
    s.step.origin = n.origin;
    for (Node* in : n.inputs()) add_operand(s, item_index(in), n.stream);
    s.step.n_inputs = static_cast<int>(s.slots.size());
    std::vector<Location> results = add_outputs(s, n);
    enter_loops(s, n);
    const Requirements need = find_kernel(s, n);
    for (size_t k = 0; k < need.inputs.size(); ++k) meet(need.inputs[k], s, k, n.stream);
    if (need.workspace) {
      s.step.workspace = static_cast<int>(s.slots.size());
      s.slots.push_back(steps_.add_slot(SlotKind::temp, need.workspace));
      s.step.operands.push_back(dense_layout({static_cast<int64_t>(need.workspace)}, uint8));
      if (!s.loop.empty()) s.step.advance.push_back(Strides(s.loop.size(), 0));
    }
    uint32_t in_place = s.loop.empty() ? need.in_place : 0;
    bool runs = s.loop.empty() || num_elements(s.loop) > 0;
    s.step.loop = s.loop;
    if (runs) steps_.add_step(n.stream, std::move(s.step), all_of(s.slots), in_place);
    values_.set_parts(i, std::move(results));
    store(i);
  }

  Requirements find_kernel(const OpStep& s, const Node& n) const {
    const Target& t = targets_.of(n.stream);
    return t.backend->find(*s.step.op, s.step.attrs.get(), s.step.operands, s.step.n_inputs,
                           t.stream.device.index);
  }

  void add_operand(OpStep& s, uint32_t item, int stream) {
    Location from = values_.resolve(item, stream);
    if (from.is_constant()) {
      const Shape& shape = items_[item].node->shape;
      from = steps_.add_copy(from, {}, stream);
      from.layout.shape = shape;
      from.layout.strides = Strides(shape.size(), 0);
    }
    s.step.operands.push_back(from.layout);
    s.slots.push_back(from.slot);
  }

  std::vector<Location> add_outputs(OpStep& s, const Node& n) {
    std::vector<Location> results;
    auto add = [&](const Shape& shape, Dtype dtype) {
      Layout layout = dense_layout(shape, dtype);
      int slot = steps_.add_slot(SlotKind::temp, num_elements(shape) * dtype.size());
      s.slots.push_back(slot);
      s.step.operands.push_back(layout);
      results.push_back({.slot = slot, .layout = std::move(layout)});
    };
    if (n.parts) {
      for (const PartInfo& p : *n.parts) add(p.shape, p.dtype);
    } else {
      add(n.shape, n.dtype);
    }
    return results;
  }

  /// A loop op becomes a step of the op inside, at each position along the first axis of those
  /// operands that have it.
  void enter_loops(OpStep& s, const Node& n) {
    while (s.step.op->loop) {
      const LoopBody body = s.step.op->loop(s.step.attrs.get());
      const Layout& first_output = s.step.operands[s.step.n_inputs];
      s.loop.push_back(first_output.shape[0]);
      s.step.advance.resize(s.step.operands.size());
      for (size_t k = 0; k < s.step.operands.size(); ++k) {
        Layout& l = s.step.operands[k];
        bool moves = static_cast<int>(k) >= s.step.n_inputs || (*body.mapped)[k];
        s.step.advance[k].push_back(moves ? l.strides[0] : 0);
        if (!moves) continue;
        l.shape.erase(l.shape.begin());
        l.strides.erase(l.strides.begin());
      }
      s.step.op = body.node->op;
      s.step.attrs = body.node->attrs;
    }
  }

  /// Copies an input that the kernel cannot read as it lies.
  void meet(Accepts wish, OpStep& s, size_t k, int stream) {
    Layout& l = s.step.operands[k];
    if (accepted(wish, l)) return;
    Layout whole = l;  // with the axes of the loops in front
    SmallVector<size_t, 4> moving;
    for (size_t d = 0; d < s.loop.size(); ++d)
      if (s.step.advance[k][d] != 0) moving.push_back(d);
    for (size_t d = moving.size(); d-- > 0;) {
      whole.shape.insert(whole.shape.begin(), s.loop[moving[d]]);
      whole.strides.insert(whole.strides.begin(), s.step.advance[k][moving[d]]);
    }
    Location copy = steps_.add_copy({.slot = s.slots[k], .layout = whole}, whole.shape, stream);
    s.slots[k] = copy.slot;
    l.strides = row_major(l.shape);
    l.offset = 0;
    for (size_t d = 0; d < moving.size(); ++d)
      s.step.advance[k][moving[d]] = copy.layout.strides[d];
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
      if (item.requested && has_distinct_elements(n) && (l.is_constant() || repeats(l.layout)))
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
};

}  // namespace

void lower(const Schedule& items, const Targets& targets, const Groups& groups, Plan& plan) {
  Lowering(items, targets, groups, plan).run();
}

}  // namespace mlx::core
