// Steps in order of their streams, cut into segments where streams depend on each other.
#include "mlx/runtime/steps.h"

#include <algorithm>

#include "mlx/runtime/layouts.h"

namespace mlx::core {

int StepBuilder::add_slot(SlotKind kind, size_t bytes) {
  plan_.slots.push_back({.kind = kind, .bytes = bytes});
  return static_cast<int>(plan_.slots.size()) - 1;
}

StepBuilder::Open& StepBuilder::open(int stream) {
  for (size_t k = segments_.size(); k-- > 0;)
    if (segments_[k]->segment.stream.index == stream) {
      if (segments_[k]->closed) break;
      return *segments_[k];
    }
  const Target& t = targets_.of(stream);
  auto& fresh = *segments_.emplace_back(std::make_unique<Open>());
  fresh.segment.stream = t.stream;
  fresh.segment.backend = t.backend;
  fresh.segment.space = t.space;
  fresh.segment.alignment = static_cast<size_t>(t.caps.alignment);
  // Steps are large: more than two would not fit into the allocator's small blocks.
  fresh.segment.steps.reserve(std::max<size_t>(2, items_ / 4));
  return fresh;
}

int StepBuilder::add_constant(int stream, uint32_t item) {
  auto& list = open(stream).segment.constants;
  list.push_back(item);
  return static_cast<int>(list.size()) - 1;
}

int StepBuilder::bind(Open& open, int slot) {
  if (open.binding_of.size() < plan_.slots.size()) open.binding_of.resize(plan_.slots.size(), -1);
  int& index = open.binding_of[slot];
  if (index < 0) {
    index = static_cast<int>(open.segment.slots.size());
    open.segment.slots.push_back(slot);
  }
  return index;
}

void StepBuilder::close_writer(int slot, const Open& reader) {
  Open* writer = writer_of_[slot];
  if (!writer || writer == &reader || writer->closed) return;
  writer->closed = true;
  closed_.push_back(writer);
}

void StepBuilder::add_step(int stream, Step&& step, std::span<const int> slots, uint32_t in_place) {
  Open& to = open(stream);
  writer_of_.resize(plan_.slots.size(), nullptr);
  for (size_t k = 0; k < slots.size(); ++k) {
    int slot = slots[k];
    if (static_cast<int>(k) < step.n_inputs)
      close_writer(slot, to);
    else if (plan_.slots[slot].kind != SlotKind::leaf)
      writer_of_[slot] = &to;
    step.slots.push_back(bind(to, slot));
  }
  int64_t bytes = 0;
  for (const Layout& l : step.operands) bytes += num_elements(l.shape) * l.dtype.size();
  plan_.bytes += bytes * num_elements(step.loop);
  // Communication may wait long for other processes, and loops may run long; other threads go on
  // meanwhile.
  constexpr int64_t kNeverBrief = 1 << 20;
  if (step.op && (step.op->communicates || !step.routines.empty())) plan_.bytes += kNeverBrief;
  const bool communicates = step.op && step.op->communicates;
  to.segment.steps.push_back(std::move(step));
  to.segment.in_place.push_back(in_place);
  // A launch waits for all of its inputs: communication starts when its own are there.
  if (communicates) {
    to.segment.communicates = true;
    to.closed = true;
    closed_.push_back(&to);
  }
}

Location StepBuilder::add_copy(const Location& from, const Shape& shape, int stream) {
  Dtype t = from.layout.dtype;
  Step step;
  Layout out = dense_layout(shape, t);
  SmallVector<int, 8> slots;
  if (from.is_constant()) {
    step.program.constants = {t};
    step.first_constant = add_constant(stream, from.constant);
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

void find_lifetimes(Plan& plan) {
  int index = 0;
  for (size_t id = 0; id < plan.segments.size(); ++id) {
    Segment& seg = plan.segments[id];
    seg.first_step = index;
    seg.transfers.clear();
    for (const Step& step : seg.steps) {
      for (size_t k = 0; k < step.slots.size(); ++k) {
        Slot& slot = plan.slots[seg.slots[step.slots[k]]];
        slot.last_step = index;
        if (slot.kind == SlotKind::leaf) continue;
        if (static_cast<int>(k) >= step.n_inputs && slot.segment < 0)
          slot.segment = static_cast<int>(id);
        if (slot.segment != static_cast<int>(id)) {
          slot.crosses = true;
          if (slot.segment >= 0 && slot.segment == static_cast<int>(id) - 1)
            plan.segments[slot.segment].waited_for = true;
        }
      }
      ++index;
    }
    for (size_t b = 0; b < seg.slots.size(); ++b) {
      const Slot& slot = plan.slots[seg.slots[b]];
      bool here = slot.kind == SlotKind::leaf ? slot.present & spaces(seg.space)
                                              : slot.segment < 0 || !slot.crosses ||
                                                    plan.segments[slot.segment].space == seg.space;
      if (!here) seg.transfers.push_back(static_cast<int>(b));
    }
  }
}

void StepBuilder::finish() {
  for (auto& s : segments_)
    if (!s->closed) closed_.push_back(s.get());
  plan_.segments.reserve(closed_.size());
  size_t constants = 0;
  for (Open* s : closed_) {
    s->segment.first_constant = constants;
    constants += s->segment.constants.size();
    plan_.segments.push_back(std::move(s->segment));
  }
  find_lifetimes(plan_);
}

}  // namespace mlx::core
