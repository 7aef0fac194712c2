#include "mlx/runtime/plan.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/runtime/layouts.h"

namespace mlx::core {

namespace {

constexpr int kConstant = -1;

/// Where a value is while the plan is made: a slot and a layout in it, or a constant.
struct Place {
  int slot = kConstant;
  Layout layout;
  uint32_t constant = 0;  ///< item of the constant
};

class Planner {
 public:
  Planner(const Schedule& items, const std::vector<Unit>& units, const std::vector<int>& unit_of,
          Plan& plan)
      : items_(items), units_(units), unit_of_(unit_of), plan_(plan), place_of_(items.size(), -1) {}

  void run() {
    for (uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.leaf) continue;
      if (unit_of_[i] >= 0) {
        const Unit& unit = units_[unit_of_[i]];
        if (unit.root() == i && !is_computed_by_reader(unit)) emit_fused(unit);
      } else if (item.node->op->kind == OpKind::kernel || item.node->op->kind == OpKind::bundle) {
        emit_kernel(i);
      }
    }
    store_views();
    assign_memory(plan_, in_place_);
  }

 private:
  // --- places
  // ----------------------------------------------------------------------------------------

  int add_place(Place p) {
    places_.push_back(std::move(p));
    return static_cast<int>(places_.size()) - 1;
  }
  int add_slot(SlotKind kind, size_t bytes) {
    plan_.slots.push_back({.kind = kind, .bytes = bytes});
    return static_cast<int>(plan_.slots.size()) - 1;
  }

  /// The place of an item: views follow their chain to what has an address.
  const Place& resolve(uint32_t i) {
    size_t depth = chain_.size();
    while (place_of_[i] < 0 && is_pending_view(i)) {
      chain_.push_back(i);
      i = item_index(items_[i].node->inputs()[0]);
    }
    if (place_of_[i] < 0) place_of_[i] = place_leaf_or_part(i);
    while (chain_.size() > depth) {
      uint32_t view = chain_.back();
      chain_.pop_back();
      place_of_[view] = place_view(*items_[view].node, place_of_[i]);
      i = view;
    }
    return places_[place_of_[i]];
  }

  bool is_pending_view(uint32_t i) const {
    return !items_[i].leaf && items_[i].node->op->kind == OpKind::view;
  }

  int place_leaf_or_part(uint32_t i) {
    const Node& n = *items_[i].node;
    if (n.op == &op_constant)
      return add_place({.layout = dense_layout({}, n.dtype), .constant = i});
    if (!items_[i].leaf) return place_of_[item_index(n.inputs()[0])] + n.part;
    const Value& v = value_of(n);
    int slot = add_slot(SlotKind::leaf, 0);
    plan_.slots[slot].leaf = static_cast<int>(plan_.leaves.size());
    plan_.slots[slot].donatable = items_[i].donatable;
    plan_.slots[slot].itemsize = n.dtype.size();
    plan_.slots[slot].owner = &v.storage->backend();
    plan_.leaves.push_back(i);
    return add_place(
        {.slot = slot, .layout = {n.shape, v.strides, leaf_phase(v, n.dtype.size()), n.dtype}});
  }

  int place_view(const Node& view, int input) {
    if (places_[input].slot == kConstant) {
      if (num_elements(view.shape) == 0 || same_element(view))
        return add_place(
            {.layout = dense_layout({}, view.dtype), .constant = places_[input].constant});
      input = add_place(materialize(places_[input], view.inputs()[0]->shape));
    }
    Layout out{view.shape, {}, 0, view.dtype};
    if (!view.op->view(view, places_[input].layout, out)) {
      input = add_place(materialize(places_[input], view.inputs()[0]->shape));
      if (!view.op->view(view, places_[input].layout, out))
        fail<ExecutionError>(view.op->name, "cannot be laid out over a dense input");
    }
    return add_place({.slot = places_[input].slot, .layout = std::move(out)});
  }

  /// A view of one repeated element is that element, unless it reads the bits as another dtype.
  bool same_element(const Node& view) const { return view.dtype == view.inputs()[0]->dtype; }

  /// A row-contiguous copy.
  Place materialize(const Place& from, const Shape& shape) {
    Place p = from;  // emit_program may move the places
    return emit_copy(p, shape, current_stream_);
  }

  // --- steps
  // -----------------------------------------------------------------------------------------

  Segment& segment(int stream) {
    if (plan_.segments.empty() || plan_.segments.back().stream.index != stream) {
      Stream s(stream, stream_device(stream));
      Segment& fresh = plan_.segments.emplace_back();
      fresh.stream = s;
      fresh.backend = &backend_of(s.device);
      fresh.first_step = static_cast<int>(in_place_.size());
    }
    return plan_.segments.back();
  }

  /// Adds a step whose operands are in `slots`, counting the use of each.
  void add_step(int stream, Step step, std::span<const int> slots, uint32_t in_place) {
    Segment& seg = segment(stream);
    int index = static_cast<int>(in_place_.size());
    int segment_index = static_cast<int>(plan_.segments.size()) - 1;
    for (size_t k = 0; k < slots.size(); ++k) {
      Slot& slot = plan_.slots[slots[k]];
      slot.last_step = index;
      bool written = static_cast<int>(k) >= step.n_inputs;
      if (written && slot.segment < 0 && slot.kind != SlotKind::leaf) slot.segment = segment_index;
      if (slot.kind != SlotKind::leaf && slot.segment != segment_index) slot.crosses = true;
      step.slots.push_back(bind(seg, slots[k]));
    }
    seg.steps.push_back(std::move(step));
    in_place_.push_back(in_place);
  }

  int bind(Segment& seg, int slot) {
    if (binding_.size() < plan_.slots.size()) binding_.resize(plan_.slots.size(), {-1, -1});
    auto& [owner, index] = binding_[slot];
    int id = static_cast<int>(plan_.segments.size()) - 1;
    if (owner != id) {
      owner = id;
      index = static_cast<int>(seg.slots.size());
      seg.slots.push_back(slot);
    }
    return index;
  }

  Place emit_copy(const Place& from, const Shape& shape, int stream) {
    Dtype t = from.layout.dtype;
    Step step;
    Layout out = dense_layout(shape, t);
    SmallVector<int, 8> slots;
    if (from.slot == kConstant) {
      step.program.constants = {t};
      step.first_parameter = add_parameter(stream, from.constant);
    } else {
      step.program.inputs = {t};
      step.operands.push_back(from.layout);
      slots.push_back(from.slot);
      step.n_inputs = 1;
    }
    step.program.code = {{OpId::copy, t, t, 0, 0, 0}};
    step.program.outputs = {1};
    step.operands.push_back(out);
    int slot = add_slot(SlotKind::temp, num_elements(shape) * t.size());
    slots.push_back(slot);
    if (num_elements(shape)) add_step(stream, std::move(step), {slots.data(), slots.size()}, 0);
    return {.slot = slot, .layout = std::move(out)};
  }

  int add_parameter(int stream, uint32_t constant) {
    auto& list = segment(stream).parameters;
    list.push_back(constant);
    return static_cast<int>(list.size()) - 1;
  }

  void emit_kernel(uint32_t i) {
    Node* n = items_[i].node;
    current_stream_ = n->stream;
    if (computes_input(i) && emit_with_program(i)) return;
    Step step;
    step.op = n->op;
    step.attrs = n->attrs;
    step.origin = n->origin;
    SmallVector<int, 8> slots;
    for (Node* in : n->inputs()) add_operand(step, slots, item_index(in));
    step.n_inputs = static_cast<int>(slots.size());
    int first = static_cast<int>(places_.size());
    auto add_output = [&](const Shape& shape, Dtype dtype) {
      Layout layout = dense_layout(shape, dtype);
      int slot = add_slot(SlotKind::temp, num_elements(shape) * dtype.size());
      slots.push_back(slot);
      step.operands.push_back(layout);
      add_place({.slot = slot, .layout = std::move(layout)});
    };
    if (n->parts) {
      for (const PartInfo& p : *n->parts) add_output(p.shape, p.dtype);
    } else {
      add_output(n->shape, n->dtype);
    }
    place_of_[i] = first;
    Backend& backend = *segment(n->stream).backend;
    Requirements need = backend.find(*n->op, n->attrs.get(), step.operands, step.n_inputs);
    for (int k = 0; k < step.n_inputs; ++k) make_contiguous(step, slots, k, need.contiguous);
    if (need.workspace) {
      step.workspace = static_cast<int>(slots.size());
      slots.push_back(add_slot(SlotKind::temp, need.workspace));
      step.operands.push_back(dense_layout({static_cast<int64_t>(need.workspace)}, uint8));
    }
    add_step(n->stream, std::move(step), {slots.data(), slots.size()}, need.in_place);
    store(i);
  }

  void add_operand(Step& step, SmallVector<int, 8>& slots, uint32_t item) {
    Place p = resolve(item);
    if (p.slot == kConstant) {
      const Shape& shape = items_[item].node->shape;
      p = emit_copy(p, {}, current_stream_);
      p.layout.shape = shape;
      p.layout.strides = Strides(shape.size(), 0);
    }
    step.operands.push_back(p.layout);
    slots.push_back(p.slot);
  }

  void make_contiguous(Step& step, SmallVector<int, 8>& slots, int k, uint32_t mask) {
    const Layout& l = step.operands[k];
    bool asked = k < 32 ? mask >> k & 1 : mask == ~0u;
    if (!asked || is_row_contiguous(l.shape, l.strides)) return;
    Place p = emit_copy({.slot = slots[k], .layout = l}, Shape(l.shape), current_stream_);
    slots[k] = p.slot;
    step.operands[k] = p.layout;
  }

  // --- fused steps
  // -----------------------------------------------------------------------------------

  void emit_fused(const Unit& unit) {
    const Node& root = *items_[unit.root()].node;
    current_stream_ = root.stream;
    Step step;
    step.origin = root.origin;
    SmallVector<int, 8> slots;
    lower_inputs(unit, root.shape, step, slots);
    step.n_inputs = static_cast<int>(slots.size());
    lower_code(unit, step.program);
    const Strides order = output_strides(unit, step, root.shape);
    std::vector<uint32_t> stored;
    for (const Member& m : unit.members)
      if (items_[m.item].stored() || m.item == unit.root() || read_outside(m))
        stored.push_back(m.item);
    for (const Member& m : unit.members) {
      if (m.transparent || !std::binary_search(stored.begin(), stored.end(), m.item)) continue;
      add_output(m, step, slots, order);
    }
    uint32_t in_place = same_layout_inputs(step);
    if (num_elements(root.shape) > 0)
      add_step(root.stream, std::move(step), {slots.data(), slots.size()}, in_place);
    for (uint32_t i : stored) store(i);
  }

  bool is_computed_by_reader(const Unit& unit) const {
    if (unit.reader < 0) return false;
    const Node &n = *items_[unit.reader].node, &root = *items_[unit.root()].node;
    const Layout operands[] = {dense_layout(root.shape, root.dtype),
                               dense_layout(n.shape, n.dtype)};
    Stream s(n.stream, stream_device(n.stream));
    return num_elements(root.shape) > 0 &&
           backend_of(s.device).find(*n.op, n.attrs.get(), operands, 1).computed;
  }
  bool computes_input(uint32_t i) const {
    auto in = items_[i].node->inputs();
    int unit = in.size() == 1 ? unit_of_[item_index(in[0])] : -1;
    return unit >= 0 && units_[unit].reader == static_cast<int>(i) &&
           is_computed_by_reader(units_[unit]);
  }
  /// A step of an op that computes its input on the way. False, and the unit is a step of its own,
  /// where it reads constants alone, or a matrix across its rows: those are better read by blocks.
  bool emit_with_program(uint32_t i) {
    const Node& n = *items_[i].node;
    const Unit& unit = units_[unit_of_[item_index(n.inputs()[0])]];
    Step step;
    step.op = n.op;
    step.attrs = n.attrs;
    step.origin = n.origin;
    SmallVector<int, 8> slots;
    lower_inputs(unit, items_[unit.root()].node->shape, step, slots);
    if (slots.empty() || !std::all_of(step.operands.begin(), step.operands.end(), lies_along_rows))
      return emit_fused(unit), false;
    step.n_inputs = static_cast<int>(slots.size());
    lower_code(unit, step.program);
    step.program.outputs = {static_cast<uint16_t>(member_values_.back())};
    Layout out = dense_layout(n.shape, n.dtype);
    slots.push_back(add_slot(SlotKind::temp, num_elements(n.shape) * n.dtype.size()));
    step.operands.push_back(out);
    place_of_[i] = add_place({.slot = slots.back(), .layout = std::move(out)});
    add_step(n.stream, std::move(step), {slots.data(), slots.size()}, 0);
    store(i);
    return true;
  }

  static bool lies_along_rows(const Layout& l) {
    return l.shape.empty() || l.shape.back() == 1 || l.strides.back() == 0 || l.strides.back() == 1;
  }

  bool read_outside(const Member& m) const {
    return inside_uses_[&m - &units_[unit_of_[m.item]].members[0]] != items_[m.item].uses;
  }

  struct Input {
    uint32_t item;
    const AxisMap* axes;
    uint16_t value;
  };

  /// Finds what the unit reads: inputs first, constants after them in the numbering of values.
  void lower_inputs(const Unit& unit, const Shape& iteration, Step& step,
                    SmallVector<int, 8>& slots) {
    inside_uses_.assign(unit.members.size(), 0);
    leaves_.clear();
    operand_maps_.clear();
    for (const Member& m : unit.members) {
      for (Node* in : items_[m.item].node->inputs()) {
        uint32_t k = item_index(in);
        int position = member_position(unit, k);
        if (position >= 0) {
          ++inside_uses_[position];
        } else if (!m.transparent) {
          operand_maps_.push_back(operand_map(*in, m.axes));
        } else {
          view_map(*items_[m.item].node, m.axes, operand_maps_.emplace_back());
        }
        if (position < 0) leaves_.push_back({k, static_cast<uint32_t>(operand_maps_.size() - 1)});
      }
    }
    std::vector<Place> constants;
    leaf_values_.assign(leaves_.size(), 0);
    for (size_t j = 0; j < leaves_.size(); ++j) {
      Place p = resolve(leaves_[j].item);
      leaf_values_[j] = p.slot == kConstant
                            ? -1 - add_constant(constants, p)
                            : add_input(step, slots, p, operand_maps_[leaves_[j].map], iteration);
    }
    int n_inputs = static_cast<int>(slots.size());
    for (int& v : leaf_values_)
      if (v < 0) v = n_inputs + (-1 - v);
    for (size_t c = 0; c < constants.size(); ++c) {
      int at = add_parameter(current_stream_, constants[c].constant);
      if (c == 0) step.first_parameter = at;
      step.program.constants.push_back(constants[c].layout.dtype);
    }
  }

  /// Equal constants share a value; which are equal is part of the form that plans are cached by.
  int add_constant(std::vector<Place>& list, const Place& p) {
    for (size_t c = 0; c < list.size(); ++c)
      if (list[c].layout.dtype == p.layout.dtype && same_constant(list[c].constant, p.constant))
        return static_cast<int>(c);
    list.push_back(p);
    return static_cast<int>(list.size()) - 1;
  }
  bool same_constant(uint32_t a, uint32_t b) const {
    return items_[a].node->scalar() == items_[b].node->scalar();
  }

  static int add_input(Step& step, SmallVector<int, 8>& slots, const Place& p, const AxisMap& axes,
                       const Shape& iteration) {
    Layout l = map_layout(p.layout, axes, iteration);
    for (size_t k = 0; k < slots.size(); ++k)
      if (slots[k] == p.slot && step.operands[k].offset == l.offset &&
          step.operands[k].strides == l.strides && step.operands[k].dtype == l.dtype)
        return static_cast<int>(k);
    step.program.inputs.push_back(l.dtype);
    step.operands.push_back(std::move(l));
    slots.push_back(p.slot);
    return static_cast<int>(slots.size()) - 1;
  }

  int member_position(const Unit& unit, uint32_t item) const {
    if (unit_of_[item] < 0 || unit_of_[item] != unit_of_[unit.root()]) return -1;
    auto it = std::lower_bound(unit.members.begin(), unit.members.end(), item,
                               [](const Member& m, uint32_t i) { return m.item < i; });
    return static_cast<int>(it - unit.members.begin());
  }

  void lower_code(const Unit& unit, Program& program) {
    member_values_.assign(unit.members.size(), 0);
    program.code.reserve(unit.members.size());
    size_t leaf = 0;
    int next = program.first_instr();
    for (size_t p = 0; p < unit.members.size(); ++p) {
      const Member& m = unit.members[p];
      const Node& n = *items_[m.item].node;
      uint16_t args[3] = {};
      auto inputs = n.inputs();
      for (size_t k = 0; k < inputs.size(); ++k) {
        int position = member_position(unit, item_index(inputs[k]));
        args[k] =
            static_cast<uint16_t>(position >= 0 ? member_values_[position] : leaf_values_[leaf++]);
      }
      if (m.transparent) {
        member_values_[p] = args[0];
        continue;
      }
      OpId op = n.op->elementwise >= 0 ? static_cast<OpId>(n.op->elementwise) : OpId::cast;
      Dtype type = inputs[inputs.size() == 3 ? 1 : 0]->dtype;
      if (op == OpId::cast && type == n.dtype) op = OpId::copy;
      program.code.push_back({op, type, n.dtype, args[0], args[1], args[2]});
      member_values_[p] = next++;
    }
  }

  void add_output(const Member& m, Step& step, SmallVector<int, 8>& slots, const Strides& order) {
    const Node& n = *items_[m.item].node;
    size_t position = member_position(units_[unit_of_[m.item]], m.item);
    step.program.outputs.push_back(static_cast<uint16_t>(member_values_[position]));
    const Shape& iteration = items_[units_[unit_of_[m.item]].root()].node->shape;
    step.operands.push_back({iteration, order, 0, n.dtype});
    int slot = add_slot(SlotKind::temp, num_elements(n.shape) * n.dtype.size());
    slots.push_back(slot);
    Layout own{n.shape, row_major(n.shape), 0, n.dtype};
    for (size_t k = 0; k < m.axes.size(); ++k)
      if (m.axes[k] >= 0) own.strides[k] = order[m.axes[k]];
    place_of_[m.item] = add_place({.slot = slot, .layout = std::move(own)});
  }

  /// Dense strides of the root. Each member lies as it would if it were computed on its own, so
  /// that ops which round by the layouts of their operands give the same bits, fused or not.
  Strides output_strides(const Unit& unit, const Step& step, const Shape& shape) {
    static const Order constant{};
    orders_.clear();  // of the inputs, then of the members
    for (int k = 0; k < step.n_inputs; ++k)
      orders_.push_back(order_of(step.operands[k].strides, shape));
    size_t leaf = 0;
    for (const Member& m : unit.members) {
      const Node& n = *items_[m.item].node;
      SmallVector<const Order*, 3> from;
      for (Node* in : n.inputs()) {
        int position = member_position(unit, item_index(in));
        int order = position >= 0 ? step.n_inputs + position : leaf_values_[leaf++];
        bool known = position >= 0 || order < step.n_inputs;
        from.push_back(known ? &orders_[order] : &constant);
      }
      orders_.push_back(m.transparent
                            ? Order(*from[0])
                            : order_like({from.data(), from.size()}, n.shape, m.axes, shape));
    }
    return orders_.back().strides;
  }

  /// Inputs whose elements lie exactly as the outputs' do.
  static uint32_t same_layout_inputs(const Step& step) {
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

  // --- results
  // ---------------------------------------------------------------------------------------

  /// Records where a stored item ends up.
  void store(uint32_t i) {
    Node* n = items_[i].node;
    if (!items_[i].stored()) return;
    if (n->parts) {
      for (size_t k = 0; k < n->parts->size(); ++k)
        add_result(i, static_cast<int>(k), places_[place_of_[i] + k]);
    } else {
      add_result(i, -1, places_[place_of_[i]]);
    }
  }

  void add_result(uint32_t item, int part, const Place& p) {
    Slot& slot = plan_.slots[p.slot];
    if (slot.kind == SlotKind::temp) slot.kind = SlotKind::output;
    slot.donatable = false;
    plan_.results.push_back({item, part, p.slot, p.layout.offset, p.layout.strides});
  }

  /// Stored views and parts take no step of their own, except that an array asked for by name does
  /// not repeat its elements in memory (a writable export of it would be a trap).
  void store_views() {
    for (uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.leaf || !item.stored() || unit_of_[i] >= 0) continue;
      if (item.node->op->kind != OpKind::view && item.node->op->kind != OpKind::part) continue;
      current_stream_ = item.node->stream;
      Place p = resolve(i);
      if (p.slot == kConstant && !item.wanted) continue;  // as cheap to describe as to store
      if (p.slot == kConstant || (item.wanted && repeats(p.layout)))
        p = emit_copy(p, item.node->shape, current_stream_);
      add_result(i, -1, p);
    }
  }

  static bool repeats(const Layout& l) {
    for (size_t k = 0; k < l.shape.size(); ++k)
      if (l.shape[k] > 1 && l.strides[k] == 0) return true;
    return false;
  }

  struct Leaf {
    uint32_t item, map;
  };

  const Schedule& items_;
  const std::vector<Unit>& units_;
  const std::vector<int>& unit_of_;
  Plan& plan_;
  std::vector<int> place_of_;  // per item, index in places_, or -1
  std::vector<Place> places_;
  std::vector<uint32_t> chain_;
  std::vector<uint32_t> in_place_;  // per step
  std::vector<std::pair<int, int>>
      binding_;  // per slot: segment that bound it last, and its index there
  int current_stream_ = 0;
  // Scratch of the unit being lowered.
  std::vector<uint32_t> inside_uses_;
  std::vector<Leaf> leaves_;
  std::vector<AxisMap> operand_maps_;
  std::vector<int> leaf_values_, member_values_;
  std::vector<Order> orders_;
};

}  // namespace

void make_plan(const Schedule& items, const std::vector<Unit>& units,
               const std::vector<int>& unit_of, Plan& plan) {
  Planner(items, units, unit_of, plan).run();
}

void prepare(Plan& plan) {
  for (Segment& s : plan.segments)
    if (!s.steps.empty()) s.executable = s.backend->prepare(std::move(s.steps));
}

}  // namespace mlx::core
