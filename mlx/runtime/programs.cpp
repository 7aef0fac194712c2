// Instructions, operands and results of a fused program.
#include "mlx/runtime/programs.h"

#include <algorithm>

#include "mlx/core/error.h"

namespace mlx::core {

Step ProgramBuilder::start(const FusionGroup& group, std::optional<uint32_t> first) {
  group_ = &group;
  const Node& root = *items_[group.root()].node;
  id_ = groups_.of[group.root()];
  stream_ = root.stream;
  slots_.clear();
  Step step;
  step.origin = root.origin;
  find_inputs();
  step.operands.reserve(inputs_.size() + 2);  // mostly one output
  if (first) {
    AxisMap axes;
    for (size_t k = 0; k < iteration().size(); ++k)
      axes.push_back(iteration()[k] == 1 ? -1 : static_cast<int>(k));
    add_input(step, values_.at(*first), axes);
  }
  lower_inputs(step);
  step.n_inputs = static_cast<int>(slots_.size());
  lower_code(step.program);
  return step;
}

/// Operands of the members that are no members, and the axes through which they are read.
void ProgramBuilder::find_inputs() {
  inside_uses_.assign(group_->members.size(), 0);
  position_of_.resize(items_.size());
  for (size_t p = 0; p < group_->members.size(); ++p)
    position_of_[group_->members[p].item] = static_cast<uint32_t>(p);
  inputs_.clear();
  maps_.clear();
  maps_.reserve(2 * group_->members.size());  // as many as binary ops have inputs
  for (const Member& m : group_->members) {
    for (Node* in : computed_from(*items_[m.item].node)) {
      uint32_t k = item_index(in);
      int position = member_position(k);
      if (position >= 0) {
        ++inside_uses_[position];
        continue;
      }
      if (m.transparent)
        view_map(*items_[m.item].node, m.axes, maps_.emplace_back());
      else
        maps_.push_back(operand_map(*in, m.axes));
      inputs_.push_back({k, static_cast<uint32_t>(maps_.size() - 1)});
    }
  }
}

/// Numbers the inputs, the constants after them, and then what the program computes first.
void ProgramBuilder::lower_inputs(Step& step) {
  std::vector<Location> constants;
  input_values_.assign(inputs_.size(), 0);
  generated_inputs_.assign(inputs_.size(), -1);
  generated_.clear();
  for (size_t j = 0; j < inputs_.size(); ++j) {
    const auto& generated = group_->generated;
    if (std::find(generated.begin(), generated.end(), inputs_[j].item) != generated.end())
      generated_inputs_[j] = add_generated(step, constants, inputs_[j]);
    else
      input_values_[j] = add_operand(step, constants, values_.resolve(inputs_[j].item, stream_),
                                     maps_[inputs_[j].map]);
  }
  for (size_t c = 0; c < constants.size(); ++c) {
    int at = steps_.add_constant(stream_, constants[c].constant);
    if (c == 0) step.first_constant = at;
    step.program.constants.push_back(constants[c].layout.dtype);
  }
  lower_generated(step.program);
}

int ProgramBuilder::add_operand(Step& step, std::vector<Location>& constants, const Location& from,
                                const AxisMap& axes) {
  return from.is_constant() ? -1 - add_constant(constants, from) : add_input(step, from, axes);
}

/// Which of `generated_` the input is: equal ones are computed once.
int ProgramBuilder::add_generated(Step& step, std::vector<Location>& constants,
                                  const Input& input) {
  if (!comes_from_generator(items_, input.item))
    return add_generated(cast_of(step, constants, input));
  GeneratorRead read;
  find_generator(items_, input.item, maps_[input.map], read);
  const Node& n = *items_[read.item].node;
  Generated g{instruction_of(read.how, n.dtype),
              numbering_of(read, n.shape, iteration().size()),
              {0, 0},
              {}};
  Layout alone = map_layout(dense_layout(n.shape, n.dtype), read.axes, iteration());
  g.order = memory_order(alone.strides, iteration());
  if (read.how.kind == Generator::random_bits) {
    Location key = values_.resolve(item_index(n.inputs()[0]), stream_);
    if (key.is_constant()) {
      g.key[0] = g.key[1] = add_operand(step, constants, key, {});
    } else {
      const int64_t between = key.layout.strides.back();
      key.layout.shape.pop_back();
      key.layout.strides.pop_back();
      AxisMap axes(read.axes.begin(), read.axes.begin() + key.layout.shape.size());
      for (int& word : g.key) {
        word = add_operand(step, constants, key, axes);
        key.layout.offset += between;
      }
    }
  }
  return add_generated(std::move(g));
}

int ProgramBuilder::add_generated(Generated g) {
  for (size_t k = 0; k < generated_.size(); ++k)
    if (generated_[k].code == g.code && generated_[k].numbering == g.numbering &&
        std::equal(g.key, g.key + 2, generated_[k].key))
      return static_cast<int>(k);
  generated_.push_back(std::move(g));
  return static_cast<int>(generated_.size()) - 1;
}

/// A cast in the place of an input: of what the cast reads, through the same axes.
ProgramBuilder::Generated ProgramBuilder::cast_of(Step& step, std::vector<Location>& constants,
                                                  const Input& input) {
  const Node& n = *items_[input.item].node;
  const AxisMap& axes = maps_[input.map];
  const Location from = values_.resolve(item_index(n.inputs()[0]), stream_);
  const int operand = add_operand(step, constants, from, axes);
  Generated g{instruction_of(n), {}, {operand, 0}, {}};
  if (!from.is_constant())
    g.order = memory_order(map_layout(from.layout, axes, iteration()).strides, iteration());
  return g;
}

/// The values of all inputs, now that the operands and the constants have been counted.
void ProgramBuilder::lower_generated(Program& program) {
  const int n_inputs = static_cast<int>(slots_.size());
  auto value = [&](int v) { return v < 0 ? n_inputs + (-1 - v) : v; };
  for (Generated& g : generated_) {
    if (g.code.op == OpId::cast) {
      g.code.a = static_cast<uint16_t>(value(g.key[0]));
      program.code.push_back(g.code);
      continue;
    }
    g.code.a = static_cast<uint16_t>(program.numberings.size());
    if (g.code.op == OpId::random_bits) {
      g.code.b = static_cast<uint16_t>(value(g.key[0]));
      g.code.c = static_cast<uint16_t>(value(g.key[1]));
    }
    program.numberings.push_back(std::move(g.numbering));
    program.code.push_back(g.code);
  }
  for (size_t j = 0; j < input_values_.size(); ++j)
    input_values_[j] = generated_inputs_[j] < 0 ? value(input_values_[j])
                                                : program.first_instr() + generated_inputs_[j];
}

/// Equal constants share a value; which are equal is part of the form that plans are cached by.
int ProgramBuilder::add_constant(std::vector<Location>& list, const Location& from) const {
  auto value = [&](const Location& l) -> const Scalar& {
    return items_[l.constant].node->scalar();
  };
  for (size_t c = 0; c < list.size(); ++c)
    if (list[c].layout.dtype == from.layout.dtype && value(list[c]) == value(from))
      return static_cast<int>(c);
  list.push_back(from);
  return static_cast<int>(list.size()) - 1;
}

int ProgramBuilder::add_input(Step& step, const Location& from, const AxisMap& axes) {
  Layout l = map_layout(from.layout, axes, iteration());
  for (size_t k = 0; k < slots_.size(); ++k) {
    const Layout& known = step.operands[k];
    if (slots_[k] == from.slot && known.offset == l.offset && known.strides == l.strides &&
        known.dtype == l.dtype)
      return static_cast<int>(k);
  }
  step.program.inputs.push_back(l.dtype);
  step.operands.push_back(std::move(l));
  slots_.push_back(from.slot);
  return static_cast<int>(slots_.size()) - 1;
}

void ProgramBuilder::lower_code(Program& program) {
  const Target& target = targets_.of(stream_);
  member_values_.assign(group_->members.size(), 0);
  program.code.reserve(program.code.size() + group_->members.size());
  size_t input = 0;
  int next = program.first_instr() + static_cast<int>(program.code.size());
  for (size_t p = 0; p < group_->members.size(); ++p) {
    const Node& n = *items_[group_->members[p].item].node;
    uint16_t args[3] = {};
    auto inputs = computed_from(n);
    for (size_t k = 0; k < inputs.size(); ++k) {
      int position = member_position(item_index(inputs[k]));
      args[k] =
          static_cast<uint16_t>(position >= 0 ? member_values_[position] : input_values_[input++]);
    }
    if (group_->members[p].transparent) {
      member_values_[p] = args[0];
      continue;
    }
    Instr code = instruction_of(n);
    std::tie(code.a, code.b, code.c) = std::tie(args[0], args[1], args[2]);
    if (group_->members.size() == 1 && !target.backend->fuses(code, target.stream.device.index))
      fail<TypeError>(n.op->name, "no kernel for ", dtype_name(code.type), " on ",
                      to_string(target.stream.device), "; stream=mx.cpu runs it");
    program.code.push_back(code);
    member_values_[p] = next++;
  }
}

bool ProgramBuilder::read_outside(size_t position) const {
  return inside_uses_[position] != items_[group_->members[position].item].uses;
}

SmallVector<uint32_t, 8> ProgramBuilder::add_outputs(Step& step) {
  const Strides order = output_strides(step);
  SmallVector<uint32_t, 8> stored;
  SmallVector<char, 16> wanted(group_->members.size(), false);
  // Views come behind their bases, which other steps read in their place.
  for (size_t p = group_->members.size(); p-- > 0;) {
    const Member& m = group_->members[p];
    wanted[p] |= items_[m.item].stored() || m.item == group_->root() || read_outside(p);
    if (!m.transparent || !wanted[p]) continue;
    const int base = member_position(item_index(items_[m.item].node->inputs()[0]));
    if (base >= 0) wanted[base] = true;
  }
  for (size_t p = 0; p < group_->members.size(); ++p) {
    const Member& m = group_->members[p];
    if (!wanted[p] || m.transparent) continue;
    stored.push_back(m.item);
    add_output(m, step, order);
  }
  return stored;
}

void ProgramBuilder::add_output(const Member& m, Step& step, const Strides& order) {
  const Node& n = *items_[m.item].node;
  step.program.outputs.push_back(static_cast<uint16_t>(member_values_[member_position(m.item)]));
  step.operands.push_back({iteration(), order, 0, n.dtype});
  int slot = steps_.add_slot(SlotKind::temp, num_elements(n.shape) * n.dtype.size());
  slots_.push_back(slot);
  Layout own{n.shape, row_major(n.shape), 0, n.dtype};
  for (size_t k = 0; k < m.axes.size(); ++k)
    if (m.axes[k] >= 0) own.strides[k] = order[m.axes[k]];
  values_.set(m.item, {.slot = slot, .layout = std::move(own)});
}

Layout ProgramBuilder::root_layout(const Step& step) {
  return {iteration(), output_strides(step), 0, items_[group_->root()].node->dtype};
}

/// Whether all operands and members lie in row-major order along the iteration, or repeat elements.
bool ProgramBuilder::is_row_major(const Step& step) const {
  if (!generated_.empty()) return false;
  for (int k = 0; k < step.n_inputs; ++k) {
    const Strides& s = step.operands[k].strides;
    bool repeats = false;
    for (size_t d = 0; d < s.size(); ++d) repeats |= iteration()[d] > 1 && s[d] == 0;
    if (!repeats && !is_row_contiguous(iteration(), s)) return false;
  }
  return std::ranges::all_of(group_->members, [&](const Member& m) {
    if (m.axes.size() != iteration().size()) return false;
    for (size_t k = 0; k < m.axes.size(); ++k)
      if (m.axes[k] >= 0 && m.axes[k] != static_cast<int>(k)) return false;
    return true;
  });
}

/// Dense strides of the root. Each member has the layout that it would have if it were computed
/// alone, so that ops which round by the layouts of their operands give the same bits, fused or
/// not.
Strides ProgramBuilder::output_strides(const Step& step) {
  if (is_row_major(step)) return row_major(iteration());
  static const MemoryOrder constant{};
  orders_.clear();  // of the inputs, then of the members
  orders_.reserve(step.n_inputs + group_->members.size());
  for (int k = 0; k < step.n_inputs; ++k)
    orders_.push_back(memory_order(step.operands[k].strides, iteration()));
  size_t input = 0;
  for (const Member& m : group_->members) {
    const Node& n = *items_[m.item].node;
    SmallVector<const MemoryOrder*, 3> from;
    for (Node* in : computed_from(n)) {
      int position = member_position(item_index(in));
      if (position >= 0) {
        from.push_back(&orders_[step.n_inputs + position]);
        continue;
      }
      const int value = input_values_[input], generated = generated_inputs_[input];
      ++input;
      from.push_back(generated >= 0          ? &generated_[generated].order
                     : value < step.n_inputs ? &orders_[value]
                                             : &constant);
    }
    orders_.push_back(m.transparent
                          ? MemoryOrder(*from[0])
                          : result_order({from.data(), from.size()}, n.shape, m.axes, iteration()));
  }
  return orders_.back().strides;
}

}  // namespace mlx::core
