// Makes the steps of single ops.
#include "mlx/runtime/op_step.h"

#include "mlx/runtime/layouts.h"
#include "mlx/runtime/routine.h"

namespace mlx::core {

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

void keep_order(const Layout& in, Layout& out) {
  if (in.shape != out.shape) return;
  MemoryOrder order = memory_order(in.strides, in.shape);
  if (order.kind == MemoryOrder::dense) out.strides = std::move(order.strides);
}

OpStep OpStepBuilder::start(uint32_t i) {
  const Node& n = *items_[i].node;
  OpStep s;
  s.item = i;
  s.step.op = n.op;
  s.step.attrs = n.attrs;
  s.step.origin = n.origin;
  const size_t n_results = n.parts ? n.parts->size() : 1;
  s.results.reserve(n_results);
  s.step.operands.reserve(n.inputs().size() + n_results + 1);  // a workspace
  for (Node* in : n.inputs()) add_operand(s, item_index(in), n.stream);
  s.step.n_inputs = static_cast<int>(s.slots.size());
  if (n.op->communicates)
    if (const Location l = values_.resolve(item_index(n.inputs().back()), n.stream);
        l.is_constant())
      s.ticket = l.constant;
  add_outputs(s, n);
  enter_loops(s, n);
  const Target& t = targets_.of(n.stream);
  s.need = t.backend->find(*s.step.op, s.step.attrs.get(), s.step.operands, s.step.n_inputs,
                           t.stream.device.index);
  if (n.parts) add_routines(s, t);
  for (size_t k = 0; k < s.need.inputs.size(); ++k) meet(s.need.inputs[k], s, k, n.stream);
  if (s.need.keeps_order && s.loop.empty() && s.step.n_inputs > 0) {
    Layout& out = s.step.operands[s.step.n_inputs];
    keep_order(s.step.operands[0], out);
    s.results[0].layout = out;
  }
  return s;
}

/// The functions of a control-flow op, and room for the largest arena behind the op's own
/// workspace.
void OpStepBuilder::add_routines(OpStep& s, const Target& target) {
  const auto* functions = functions_of(s.step.attrs.get());
  if (!functions) return;
  if (target.space != Space::host && target.backend->may_run_functions(*s.step.op)) {
    for (const auto& function : *functions)
      s.step.routines.push_back(routine_of(*function, target));
    if (!target.backend->runs_functions(s.step, target.stream.device.index))
      s.step.routines.clear();
  }
  if (s.step.routines.empty())
    for (const auto& function : *functions) s.step.routines.push_back(host_routine_of(*function));
  size_t arena = 0;
  for (const auto& r : s.step.routines) arena = std::max(arena, r->arena_bytes);
  s.need.workspace += arena + kRoutineAlignment;
}

void OpStepBuilder::give_memory(OpStep& s) {
  for (Location& r : s.results) {
    const Layout& l = r.layout;
    r.slot = steps_.add_slot(SlotKind::temp, num_elements(l.shape) * l.dtype.size());
    s.slots.push_back(r.slot);
  }
  if (s.need.workspace) {
    s.step.workspace = static_cast<int>(s.slots.size());
    s.slots.push_back(steps_.add_slot(SlotKind::temp, s.need.workspace));
    s.step.operands.push_back(dense_layout({static_cast<int64_t>(s.need.workspace)}, uint8));
    if (!s.loop.empty()) s.step.advance.push_back(Strides(s.loop.size(), 0));
  }
  values_.set_parts(s.item, std::move(s.results));
}

void OpStepBuilder::finish(OpStep& s) {
  uint32_t in_place = s.loop.empty() ? s.need.in_place : 0;
  bool runs = s.loop.empty() || num_elements(s.loop) > 0;
  s.step.loop = s.loop;
  const int stream = items_[s.item].node->stream;
  // Devices whose memory the host cannot read find it there.
  if (s.ticket >= 0)
    s.step.first_constant = steps_.add_constant(stream, static_cast<uint32_t>(s.ticket));
  if (runs) steps_.add_step(stream, std::move(s.step), all_of(s.slots), in_place);
}

void OpStepBuilder::add_operand(OpStep& s, uint32_t item, int stream) {
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

void OpStepBuilder::add_outputs(OpStep& s, const Node& n) {
  auto add = [&](const Shape& shape, Dtype dtype) {
    s.step.operands.push_back(dense_layout(shape, dtype));
    s.results.push_back({.layout = s.step.operands.back()});
  };
  if (n.parts) {
    for (const PartInfo& p : *n.parts) add(p.shape, p.dtype);
  } else {
    add(n.shape, n.dtype);
  }
}

/// A loop op becomes a step of the op inside, at each position along the first axis of those
/// operands that have it.
void OpStepBuilder::enter_loops(OpStep& s, const Node& n) {
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

/// Copies an input whose layout the kernel cannot read.
void OpStepBuilder::meet(Accepts wish, OpStep& s, size_t k, int stream) {
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
  for (size_t d = 0; d < moving.size(); ++d) s.step.advance[k][moving[d]] = copy.layout.strides[d];
}

}  // namespace mlx::core
