// The pass `assign`: the place of every slot in memory.
#include "mlx/runtime/assign.h"

#include <algorithm>
#include <utility>

namespace mlx::core {

namespace {

/// True for an op that writes its outputs itself.
bool runs_alone(const Step& step) { return step.op && step.epilogue < 0; }

/// Strides of axes of length 1 mean nothing.
bool lie_alike(const Layout& a, const Layout& b) {
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

/// Lets outputs take over the memory of inputs that are read for the last time.
class InPlace {
 public:
  explicit InPlace(Plan& plan) : plan_(plan) {}

  void run() {
    for (Segment& seg : plan_.segments)
      for (size_t i = 0; i < seg.steps.size(); ++i)
        try_step(seg, seg.steps[i], seg.first_step + static_cast<int>(i), seg.in_place[i]);
  }

 private:
  void try_step(const Segment& seg, const Step& step, int index, uint32_t free) {
    int end = step.outputs_end();
    // Only a program, which goes tile by tile, may write several outputs over its inputs.
    if (runs_alone(step)) end = std::min(end, step.n_inputs + 1);
    for (int o = step.n_inputs; o < end && free; ++o) {
      for (int k = 0; k < step.n_inputs && k < 32; ++k) {
        if (!(free >> k & 1) || !fits(seg, step, index, k, o)) continue;
        take(seg.slots[step.slots[k]], step.operands[k], seg.slots[step.slots[o]]);
        int home = plan_.home_of(seg.slots[step.slots[k]]);
        for (int j = 0; j < step.n_inputs && j < 32; ++j)
          if (plan_.home_of(seg.slots[step.slots[j]]) == home) free &= ~(1u << j);
        break;
      }
    }
  }

  bool fits(const Segment& seg, const Step& step, int index, int k, int o) const {
    const Layout &in = step.operands[k], &out = step.operands[o];
    if (in.dtype.size() != out.dtype.size() || in.shape != out.shape) return false;
    if (runs_alone(step) && !lie_alike(in, out)) return false;
    int slot = seg.slots[step.slots[k]], home = plan_.home_of(slot);
    const Slot& h = plan_.slots[home];
    const Slot& target = plan_.slots[seg.slots[step.slots[o]]];
    if (target.home >= 0 || target.crosses || h.crosses || h.last_step != index) return false;
    if (plan_.slots[slot].last_step != index) return false;
    bool free =
        h.kind == SlotKind::temp || (h.kind == SlotKind::leaf && h.donatable &&
                                     plan_.segments.size() == 1 && h.present & spaces(seg.space));
    if (!free) return false;
    // Only a program reads every operand at the very place that it writes; an op has its own order.
    for (int j = 0; j < step.n_inputs; ++j) {
      if (plan_.home_of(seg.slots[step.slots[j]]) != home || j == k) continue;
      if (runs_alone(step) || j < step.epilogue) return false;
      const Layout& other = step.operands[j];
      if (step.slots[j] != step.slots[k] || other.offset != in.offset ||
          other.strides != in.strides)
        return false;
    }
    return true;
  }

  void take(int input, const Layout& layout, int output) {
    int home = plan_.home_of(input);
    Slot& h = plan_.slots[home];
    Slot& out = plan_.slots[output];
    int64_t base = input == home ? 0 : plan_.slots[input].home_offset;
    out.home = home;
    out.home_offset = base + layout.offset * layout.dtype.size();
    h.last_step = std::max(h.last_step, out.last_step);
    if (out.kind != SlotKind::output) return;
    h.donatable = false;
    if (h.kind == SlotKind::temp) h.kind = SlotKind::output;
  }

  Plan& plan_;
};

/// First-fit by size over one growing block.
class Arena {
 public:
  explicit Arena(size_t alignment) : alignment_(alignment) {}
  size_t take(size_t bytes) {
    bytes = rounded(bytes);
    Hole* best = nullptr;
    for (Hole& hole : holes_)
      if (hole.bytes >= bytes && (!best || hole.bytes < best->bytes)) best = &hole;
    if (!best) return std::exchange(end_, end_ + bytes);
    const size_t at = best->at;
    *best = {at + bytes, best->bytes - bytes};
    if (best->bytes == 0) holes_.erase(best);
    return at;
  }
  void give(size_t at, size_t bytes) {
    bytes = rounded(bytes);
    Hole* after = std::ranges::lower_bound(holes_, at, {}, &Hole::at);
    const bool joins_after = after != holes_.end() && at + bytes == after->at;
    Hole* before = after == holes_.begin() ? nullptr : after - 1;
    if (before && before->at + before->bytes == at) {
      before->bytes += bytes + (joins_after ? after->bytes : 0);
      if (joins_after) holes_.erase(after);
    } else if (joins_after) {
      *after = {at, bytes + after->bytes};
    } else {
      holes_.insert(after, {at, bytes});
    }
  }
  size_t bytes() const { return end_; }

 private:
  // Empty temporaries take room too, so that every segment with temporaries has an arena.
  size_t rounded(size_t n) const {
    return (std::max<size_t>(n, 1) + alignment_ - 1) / alignment_ * alignment_;
  }
  struct Hole {
    size_t at, bytes;
  };
  size_t alignment_;
  SmallVector<Hole, 16> holes_;  // in order, none next to another
  size_t end_ = 0;
};

/// Packs the temporaries of a segment by their lifetimes.
void pack(Plan& plan, Segment& seg) {
  Arena arena(seg.alignment);
  SmallVector<bool, 64> placed(plan.slots.size(), false);
  for (size_t i = 0; i < seg.steps.size(); ++i) {
    const Step& step = seg.steps[i];
    int index = seg.first_step + static_cast<int>(i);
    auto each = [&](auto&& f) {
      for (int binding : step.slots) {
        int slot = seg.slots[binding];
        if (plan.slots[slot].kind == SlotKind::temp && plan.slots[slot].home < 0) f(slot);
      }
    };
    each([&](int slot) {
      if (placed[slot]) return;
      placed[slot] = true;
      plan.slots[slot].arena_offset = arena.take(plan.slots[slot].bytes);
    });
    // In-place values end with their home, which the step then names through them.
    for (int binding : step.slots) {
      int slot = plan.home_of(seg.slots[binding]);
      Slot& s = plan.slots[slot];
      if (s.kind != SlotKind::temp || !placed[slot] || s.last_step != index) continue;
      placed[slot] = false;
      arena.give(s.arena_offset, s.bytes);
    }
  }
  seg.arena_bytes = arena.bytes();
}

}  // namespace

void assign_memory(Plan& plan, bool in_place) {
  for (Slot& s : plan.slots)
    if (s.crosses && s.kind == SlotKind::temp) s.kind = SlotKind::output;
  if (in_place) InPlace(plan).run();
  for (Segment& seg : plan.segments) {
    pack(plan, seg);
    seg.in_place = {};
  }
}

}  // namespace mlx::core
