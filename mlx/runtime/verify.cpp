// Checks of what passes leave behind, in debug builds and under MLX_DEBUG=verify.
#include "mlx/runtime/verify.h"

#include <map>
#include <stdexcept>

#include "mlx/core/error.h"

namespace mlx::core {

namespace {

template <class... A>
void check(bool holds, const char* pass, const A&... what) {
  if (!holds) throw std::logic_error(cat("[", pass, "] ", what...));
}

/// First and last byte of an operand within its slot, over all positions of the step's loop.
std::pair<int64_t, int64_t> byte_range(const Step& step, size_t k) {
  const Layout& l = step.operands[k];
  Shape shape = l.shape;
  Strides strides = l.strides;
  for (size_t d = 0; d < step.loop.size(); ++d) {
    shape.push_back(step.loop[d]);
    strides.push_back(step.advance[k][d]);
  }
  auto [first, last] = extent(shape, strides);
  return {(l.offset + first) * l.dtype.size(), (l.offset + last + 1) * l.dtype.size()};
}

/// Programs read what has been computed before, and store only results of instructions. Their
/// operands have the iteration's shape.
void verify_program(const Step& step) {
  const Program& p = step.program;
  if (p.code.empty()) return;
  const bool prologue = step.op && step.epilogue < 0;
  const int first = std::max(step.epilogue, 0),
            last = prologue ? step.n_inputs : step.outputs_end();
  const int reads = step.n_inputs - first + (step.epilogue >= 0);
  check(reads == static_cast<int>(p.inputs.size()), "lower", step.name(), " reads ", reads,
        " inputs of ", p.inputs.size());
  check(prologue || last - step.n_inputs == static_cast<int>(p.outputs.size()), "lower",
        step.name(), " stores ", p.outputs.size(), " outputs");
  for (int k = first; k < last; ++k) {
    check(step.operands[k].shape == step.operands[first].shape, "lower", step.name(), ": operand ",
          k, " has another shape than the iteration");
    for (const Numbering& n : p.numberings)
      check(n.strides.size() == step.operands[k].shape.size(), "lower", step.name(), " numbers ",
            n.strides.size(), " axes");
  }
  int known = p.first_instr();
  for (const Instr& i : p.code) {
    const bool index = reads_index(i.op);
    check(!index || i.a < p.numberings.size(), "lower", step.name(), " has no numbering ", i.a);
    int last = index ? -1 : i.a;
    if (i.op != OpId::position) last = std::max({last, int{i.b}, int{i.c}});
    check(last < known, "lower", step.name(), " reads value ", last, " before it is computed");
    ++known;
  }
  for (uint16_t v : p.outputs)
    check(v >= p.first_instr() && v < known, "lower", step.name(), " stores value ", v);
}

/// The steps of a unit have operands of the unit or temporaries that were written before, and their
/// elements are divided into its rows.
void verify_unit(const Step& unit) {
  const RowUnit& u = *unit.unit;
  std::vector<bool> written(u.temporaries.size(), false);
  for (const Step& step : u.steps) {
    verify_program(step);
    for (size_t k = 0; k < step.slots.size(); ++k) {
      const int slot = step.slots[k], temporary = -1 - slot;
      const bool reads = static_cast<int>(k) < step.n_inputs;
      check(slot < static_cast<int>(unit.operands.size()) &&
                temporary < static_cast<int>(u.temporaries.size()),
            "rows", step.name(), " has no operand ", slot);
      check(num_elements(step.operands[k].shape) % u.rows == 0, "rows", step.name(),
            " has no whole rows in operand ", k);
      if (slot >= 0) continue;
      check(written[temporary] || !reads, "rows", step.name(), " reads temporary ", temporary,
            " before it is written");
      written[temporary] = true;
    }
  }
}

/// Checks that the result of an op overlaps one of its inputs at most, and none of them while an
/// epilogue writes: kernels read inputs in an order that the plan does not know.
void verify_in_place(const Plan& plan, const Segment& seg, const Step& step) {
  if (!step.op) return;
  auto home = [&](int k) { return plan.home_of(seg.slots[step.slots[k]]); };
  const int inputs = step.epilogue < 0 ? step.n_inputs : step.epilogue;
  const int allowed = step.epilogue < 0;
  for (int o = step.n_inputs; o < step.outputs_end(); ++o) {
    int shared = 0;
    for (int k = 0; k < inputs; ++k) shared += home(o) == home(k);
    check(shared <= allowed, "assign", step.name(), " writes over ", shared, " inputs of its op");
  }
}

}  // namespace

void verify_schedule(const Schedule& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    check(item_index(items[i].node) == i, "schedule", "item ", i, " has the place ",
          item_index(items[i].node));
    if (items[i].leaf) continue;
    for (Node* in : computed_from(*items[i].node))
      check(item_index(in) < i, "schedule", "item ", i, " comes before its input ", item_index(in));
  }
}

void verify_groups(const Schedule& items, const Groups& groups) {
  std::vector<int> seen(items.size(), -1);
  for (size_t g = 0; g < groups.list.size(); ++g) {
    const FusionGroup& group = groups.list[g];
    for (size_t m = 0; m < group.members.size(); ++m) {
      uint32_t item = group.members[m].item;
      check(groups.of[item] == static_cast<int>(g), "fuse", "item ", item, " is in two groups");
      check(m == 0 || group.members[m - 1].item < item, "fuse", "members out of order");
      seen[item] = static_cast<int>(g);
    }
  }
  check(seen == groups.of, "fuse", "an item names a group that it is not in");
  for (size_t i = 0; i < groups.epilogue_of.size(); ++i) {
    const int g = groups.epilogue_of[i];
    check(g < 0 || (groups.of[i] < 0 &&
                    items[groups.list.at(g).root()].node->shape == items[i].node->shape),
          "fuse", "item ", i, " has an epilogue of another shape");
  }
}

void verify_steps(const Plan& plan) {
  std::vector<bool> written(plan.slots.size(), false);
  for (const Segment& seg : plan.segments) {
    for (const Step& step : seg.steps) {
      check(step.slots.size() == step.operands.size(), "lower", step.name(), " has ",
            step.slots.size(), " slots for ", step.operands.size(), " operands");
      verify_program(step);
      if (step.unit) verify_unit(step);
      for (size_t k = 0; k < step.slots.size(); ++k) {
        const auto binding = static_cast<size_t>(step.slots[k]);
        check(binding < seg.slots.size(), "lower", step.name(), " has binding ", binding, " of ",
              seg.slots.size());
        const int id = seg.slots[binding];
        const Slot& slot = plan.slots[id];
        if (static_cast<int>(k) >= step.n_inputs) {
          written[id] = true;
        } else {
          bool empty = num_elements(step.operands[k].shape) == 0 || slot.bytes == 0;
          check(slot.kind == SlotKind::leaf || written[id] || empty, "lower", step.name(),
                " reads slot ", id, " before it is written");
        }
        if (slot.kind == SlotKind::leaf || num_elements(step.operands[k].shape) == 0) continue;
        auto [first, last] = byte_range(step, k);
        check(first >= 0 && last <= static_cast<int64_t>(slot.bytes), "lower", step.name(),
              " reaches bytes ", first, " to ", last, " of slot ", id, " of ", slot.bytes);
      }
    }
  }
}

void verify_memory(const Plan& plan) {
  for (const Segment& seg : plan.segments) {
    // The slot that lives in each part of the arena.
    std::map<size_t, int> alive;
    auto end = [&](int slot) { return plan.slots[slot].arena_offset + plan.slots[slot].bytes; };
    for (size_t i = 0; i < seg.steps.size(); ++i) {
      const int index = seg.first_step + static_cast<int>(i);
      verify_in_place(plan, seg, seg.steps[i]);
      std::erase_if(alive, [&](auto& e) { return plan.slots[e.second].last_step < index; });
      for (int binding : seg.steps[i].slots) {
        int slot = plan.home_of(seg.slots[binding]);
        const Slot& s = plan.slots[slot];
        if (s.kind != SlotKind::temp || s.bytes == 0) continue;
        check(end(slot) <= seg.arena_bytes, "assign", "slot ", slot, " ends beyond the arena");
        auto [it, fresh] = alive.emplace(s.arena_offset, slot);
        check(it->second == slot, "assign", "slots ", slot, " and ", it->second, " share memory");
        if (it != alive.begin())
          check(end(std::prev(it)->second) <= s.arena_offset, "assign", "slot ", slot,
                " begins within slot ", std::prev(it)->second);
        if (auto next = std::next(it); next != alive.end())
          check(end(slot) <= next->first, "assign", "slot ", slot, " ends within slot ",
                next->second);
      }
    }
  }
}

}  // namespace mlx::core
