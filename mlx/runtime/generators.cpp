// Ranges and random bits that fused programs compute where they are read.
#include "mlx/runtime/generators.h"

#include <algorithm>
#include <cmath>

#include "mlx/runtime/layouts.h"

namespace mlx::core {

bool comes_from_generator(const Schedule& items, uint32_t item) {
  for (;; item = item_index(items[item].node->inputs()[0])) {
    if (items[item].leaf) return false;
    const OpDef& op = *items[item].node->op;
    if (op.generator) return true;
    if (op.kind != OpKind::view) return false;
  }
}

bool find_generator(const Schedule& items, uint32_t item, const AxisMap& axes, GeneratorRead& out) {
  if (!comes_from_generator(items, item)) return false;
  out.axes = axes;
  for (out.item = item;;) {
    const Item& at = items[out.item];
    if (at.leaf) return false;
    const Node& n = *at.node;
    if (n.op->generator) return n.op->generator(n, out.how);
    AxisMap below;
    if (n.op->kind != OpKind::view || !view_map(n, out.axes, below)) return false;
    out.axes = std::move(below);
    out.item = item_index(n.inputs()[0]);
  }
}

Instr instruction_of(const Generator& how, Dtype dtype) {
  if (how.kind == Generator::random_bits) return {OpId::random_bits, uint32, uint32};
  return {OpId::position, is_inexact(dtype) ? float64 : int64, dtype};
}

Numbering numbering_of(const GeneratorRead& read, const Shape& own, size_t rank) {
  Numbering out{Strides(rank, 0), 1, read.how.start, read.how.step, read.how.int_start,
                read.how.int_step};
  for (size_t k = own.size(); k-- > own.size() - read.how.axes; out.count *= own[k])
    if (read.axes[k] >= 0) out.strides[read.axes[k]] = out.count;
  return out;
}

bool is_quick(const Generator& how, const Node& n) {
  if (how.kind != Generator::range) return false;
  if (!is_inexact(n.dtype)) return true;
  // Small whole numbers take no arithmetic in double.
  constexpr double kMost = 1 << 23;
  const double last = how.start + static_cast<double>(num_elements(n.shape)) * how.step;
  return n.dtype == float32 && how.start == std::trunc(how.start) &&
         how.step == std::trunc(how.step) && std::abs(how.start) < kMost && std::abs(last) < kMost;
}

void find_computed_inside(const Schedule& items, Groups& groups) {
  groups.computed_inside.clear();
  bool any = false;
  for (const FusionGroup& g : groups.list) any = any || !g.generated.empty();
  if (!any) return;
  groups.computed_inside.assign(items.size(), false);
  std::vector<bool> read(items.size(), false);
  for (uint32_t i = static_cast<uint32_t>(items.size()); i-- > 0;) {
    const Item& item = items[i];
    if (item.leaf) continue;
    const bool wanted = item.stored() || read[i];
    if (const int id = groups.of[i]; id >= 0) {
      groups.computed_inside[i] = !wanted && groups.is_recomputed(i);
      if (groups.computed_inside[i]) continue;
      const auto& generated = groups.list[id].generated;
      for (Node* in : computed_from(*item.node)) {
        const uint32_t k = item_index(in);
        if (std::find(generated.begin(), generated.end(), k) == generated.end())
          read[k] = true;
        else if (!comes_from_generator(items, k))
          read[item_index(in->inputs()[0])] = true;  // the operand of a cast
      }
    } else {
      const bool view = item.node->op->kind == OpKind::view;
      const bool inside = !wanted && (view || item.node->op->generator);
      groups.computed_inside[i] = inside;
      // The operands of a generator are read by the groups instead.
      if (inside && view) continue;
      for (Node* in : computed_from(*item.node)) read[item_index(in)] = true;
    }
  }
}

}  // namespace mlx::core
