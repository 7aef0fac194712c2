// Layouts of operands along the axes of an iteration, and the memory order of results.
#include "mlx/runtime/layouts.h"

namespace mlx::core {

namespace {

/// Strides that lie alike are equal.
Strides normalized(Strides s, const Shape& shape) {
  if (is_row_contiguous(shape, s)) return row_major(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1) s[d] = 1;
  return s;
}

}  // namespace

Layout dense_layout(const Shape& shape, Dtype dtype) { return {shape, row_major(shape), 0, dtype}; }

Layout map_layout(const Layout& layout, const AxisMap& axes, const Shape& iteration) {
  Layout out{iteration, Strides(iteration.size(), 0), layout.offset, layout.dtype};
  for (size_t k = 0; k < axes.size(); ++k)
    if (axes[k] >= 0) out.strides[axes[k]] = layout.strides[k];
  return out;
}

AxisMap operand_map(const Node& operand, const AxisMap& axes) {
  size_t rank = operand.shape.size(), shift = axes.size() - rank;
  AxisMap out(rank, -1);
  for (size_t k = 0; k < rank; ++k)
    if (operand.shape[k] != 1) out[k] = axes[k + shift];
  return out;
}

bool view_map(const Node& view, const AxisMap& axes, AxisMap& out) {
  SmallVector<int, 8> from;
  if (!view.op->permutes || !view.op->permutes(view, from)) return false;
  out = AxisMap(view.inputs()[0]->shape.size(), -1);
  for (size_t k = 0; k < from.size(); ++k)
    if (from[k] >= 0) out[from[k]] = axes[k];
  return true;
}

bool is_identity(const Node& view) {
  SmallVector<int, 8> from;
  if (!view.op->permutes || !view.op->permutes(view, from)) return false;
  for (size_t k = 0; k < from.size(); ++k)
    if (from[k] != static_cast<int>(k)) return false;
  return view.shape == view.inputs()[0]->shape;
}

MemoryOrder memory_order(const Strides& strides, const Shape& iteration) {
  for (size_t d = 0; d < iteration.size(); ++d)
    if (iteration[d] > 1 && strides[d] == 0) return {};
  if (!is_dense(iteration, strides)) return {MemoryOrder::sparse, {}};
  return {MemoryOrder::dense, normalized(strides, iteration)};
}

MemoryOrder result_order(std::span<const MemoryOrder* const> inputs, const Shape& own,
                         const AxisMap& axes, const Shape& iteration) {
  const MemoryOrder* common = nullptr;
  bool agree = true;
  for (const MemoryOrder* o : inputs) {
    if (o->kind == MemoryOrder::broadcast) continue;
    agree = agree && o->kind == MemoryOrder::dense && (!common || common->strides == o->strides);
    common = o;
  }
  if (common && agree) return *common;
  Strides plain = row_major(own), out(iteration.size(), 1);
  for (size_t k = 0; k < own.size(); ++k)
    if (axes[k] >= 0) out[axes[k]] = plain[k];
  return {MemoryOrder::dense, normalized(std::move(out), iteration)};
}

}  // namespace mlx::core
