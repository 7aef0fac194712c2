// Follows views and parts to what has an address.
#include "mlx/runtime/values.h"

#include "mlx/core/error.h"
#include "mlx/runtime/layouts.h"

namespace mlx::core {

namespace {

/// True where a view of one repeated element is that element: unless it reads the bits as another
/// dtype, or asks for elements of their own.
bool is_same_constant(const Node& view) {
  const Node& input = *view.inputs()[0];
  if (num_elements(view.shape) == 0) return true;
  if (view.dtype != input.dtype) return false;
  const Layout repeated{input.shape, Strides(input.shape.size(), 0), 0, input.dtype};
  Layout out{view.shape, {}, 0, view.dtype};
  return view.op->view(view, repeated, out);
}

}  // namespace

const Location& ValueTable::resolve(uint32_t i, int stream) {
  auto is_pending_view = [&](uint32_t k) {
    return !items_[k].leaf && items_[k].node->op->kind == OpKind::view;
  };
  size_t depth = chain_.size();
  while (location_of_[i] < 0 && is_pending_view(i)) {
    chain_.push_back(i);
    i = item_index(items_[i].node->inputs()[0]);
  }
  if (location_of_[i] < 0) location_of_[i] = locate_leaf_or_part(i);
  while (chain_.size() > depth) {
    uint32_t view = chain_.back();
    chain_.pop_back();
    location_of_[view] = locate_view(*items_[view].node, location_of_[i], stream);
    i = view;
  }
  return locations_[location_of_[i]];
}

void ValueTable::set_parts(uint32_t item, std::vector<Location> parts) {
  location_of_[item] = static_cast<int>(locations_.size());
  for (Location& p : parts) add(std::move(p));
}

int ValueTable::locate_leaf_or_part(uint32_t i) {
  const Node& n = *items_[i].node;
  if (n.op == &op_constant) return add({.layout = dense_layout({}, n.dtype), .constant = i});
  if (!items_[i].leaf) return location_of_[item_index(n.inputs()[0])] + n.part;
  const Value& v = value_of(n);
  int id = steps_.add_slot(SlotKind::leaf, 0);
  Slot& slot = steps_.slot(id);
  slot.leaf = static_cast<int>(plan_.leaves.size());
  slot.donatable = items_[i].donatable;
  slot.itemsize = n.dtype.size();
  slot.present = v.storage->present();
  plan_.leaves.push_back(i);
  return add(
      {.slot = id, .layout = {n.shape, v.strides, misalignment(v, n.dtype.size()), n.dtype}});
}

int ValueTable::locate_view(const Node& view, int input, int stream) {
  auto materialize = [&] {
    Location from = locations_[input];  // adding may move the locations
    input = add(steps_.add_copy(from, view.inputs()[0]->shape, stream));
  };
  if (locations_[input].is_constant()) {
    if (is_same_constant(view))
      return add({.layout = dense_layout({}, view.dtype), .constant = locations_[input].constant});
    materialize();
  }
  Layout out{view.shape, {}, 0, view.dtype};
  if (!view.op->view(view, locations_[input].layout, out)) {
    materialize();
    if (!view.op->view(view, locations_[input].layout, out))
      fail<ExecutionError>(view.op->name, "cannot be laid out over a dense input");
  }
  return add({.slot = locations_[input].slot, .layout = std::move(out)});
}

}  // namespace mlx::core
