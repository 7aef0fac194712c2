// Which steps divide into the rows of a unit, and what they read and write there.
#include "mlx/runtime/row_unit.h"

#include <algorithm>

namespace mlx::core {

namespace {

/// How many leading axes of a shape have that many positions together, or -1.
int leading_axes(const Shape& shape, int64_t rows) {
  int64_t n = 1;
  for (size_t k = 0; k < shape.size(); ++k)
    if ((n *= shape[k]) == rows) return static_cast<int>(k) + 1;
  return -1;
}

/// The distance of neighbouring rows, which `axes` leading axes count; false where it varies.
bool row_stride(const Layout& l, int axes, int64_t& stride) {
  int64_t next = 0;
  bool found = false;
  for (int k = axes; k-- > 0;) {
    if (l.shape[k] == 1) continue;
    if (!found)
      stride = l.strides[k];
    else if (l.strides[k] != next)
      return false;
    found = true;
    next = l.strides[k] * l.shape[k];
  }
  return found;
}

/// First and last element of a row, from the start of the row on.
std::pair<int64_t, int64_t> row_extent(const Layout& l, int axes) {
  auto [first, last] = extent(Shape(l.shape.begin() + axes, l.shape.end()),
                              Strides(l.strides.begin() + axes, l.strides.end()));
  return {l.offset + first, l.offset + last};
}

bool is_plain(const Layout& l) { return l.offset == 0 && is_row_contiguous(l.shape, l.strides); }

int64_t layout_bytes(const Layout& l) { return num_elements(l.shape) * l.dtype.size(); }

/// Inputs of an op that it reads itself, instead of a program.
bool reads_itself(const Step& s) { return s.op && s.program.code.empty(); }

}  // namespace

bool is_large(const Step& s, const Target& target) {
  return s.op && !s.unit && s.n_inputs > 0 && layout_bytes(s.operands[0]) >= target.caps.unit_bytes;
}

bool UnitBuilder::start(Step& step, uint32_t in_place) {
  if (!is_large(step, target_)) return false;
  rows_ = target_.backend->rows_of(step, target_.stream.device.index);
  if (rows_ <= 1 || !divides(step)) return false;
  int64_t bytes = 0;
  for (const Layout& l : step.operands) bytes += row_bytes(l);
  if (bytes > target_.caps.row_bytes || !is_one_unit(step, false)) return false;
  add(step, in_place, false);
  return true;
}

/// Whether each row of the step's operands can be found, and its results lie row by row.
bool UnitBuilder::divides(const Step& step) const {
  for (size_t k = 0; k < step.operands.size(); ++k) {
    const Layout& l = step.operands[k];
    const int axes = leading_axes(l.shape, rows_);
    int64_t stride = 0;
    if (axes < 0) return false;
    if (static_cast<int>(k) >= step.n_inputs ? !is_plain(l)
                                             : reads_itself(step) && !row_stride(l, axes, stride))
      return false;
  }
  return true;
}

/// Whether what the unit writes, rows of some elements one after another, is read row by row.
bool UnitBuilder::reads_rows(const Layout& l, int64_t row_elements) const {
  const int axes = leading_axes(l.shape, rows_);
  int64_t stride = 0;
  if (!row_stride(l, axes, stride) || stride != row_elements) return false;
  auto [first, last] = row_extent(l, axes);
  return first >= 0 && last < row_elements;
}

/// Bytes of a row; 0 for what all rows share.
int64_t UnitBuilder::row_bytes(const Layout& l) const {
  const int axes = leading_axes(l.shape, rows_);
  bool shared = true;
  for (int k = 0; k < axes; ++k) shared = shared && (l.shape[k] == 1 || l.strides[k] == 0);
  if (shared) return 0;
  int64_t n = l.dtype.size();
  for (size_t k = axes; k < l.shape.size(); ++k)
    if (l.strides[k] != 0) n *= l.shape[k];
  return n;
}

bool UnitBuilder::admits(const Step& step, bool in_front) const {
  if (step.unit || steps_.size() >= kMost || (in_front && step.op) || !divides(step)) return false;
  bool related = false;
  int64_t more = 0;
  for (size_t k = 0; k < step.slots.size(); ++k) {
    const Use* u = find(step.slots[k]);
    const Layout& l = step.operands[k];
    const bool written = static_cast<int>(k) >= step.n_inputs;
    related = related || (u && (u->writer >= 0 || written || row_bytes(l) > l.dtype.size()));
    if (u && u->writer >= 0 && !reads_rows(l, u->row_elements)) return false;
    if (u && written && !is_read_by_rows(step.slots[k], num_elements(l.shape) / rows_))
      return false;
    if (!u) more += row_bytes(l);
  }
  if (!related || row_bytes_ + more > target_.caps.row_bytes) return false;
  const int64_t rows = target_.backend->rows_of(step, target_.stream.device.index);
  return (rows == kAnyRows || (rows > 0 && rows % rows_ == 0)) && is_one_unit(step, in_front);
}

/// Whether the device runs the steps so far and another one as one unit.
bool UnitBuilder::is_one_unit(const Step& step, bool in_front) const {
  std::vector<const Step*> all;
  if (in_front) all.push_back(&step);
  for (const Step& s : steps_) all.push_back(&s);
  if (!in_front) all.push_back(&step);
  return target_.backend->shares_rows(all, rows_, target_.stream.device.index);
}

/// Whether all steps so far read a value row by row, which a step in front of them writes.
bool UnitBuilder::is_read_by_rows(int binding, int64_t row_elements) const {
  for (const Step& s : steps_)
    for (int k = 0; k < s.n_inputs; ++k)
      if (s.slots[k] == binding && !reads_rows(s.operands[k], row_elements)) return false;
  return true;
}

void UnitBuilder::note(const Step& step, int index) {
  for (size_t k = 0; k < step.slots.size(); ++k) {
    const Layout& l = step.operands[k];
    const bool written = static_cast<int>(k) >= step.n_inputs;
    auto at = std::ranges::find(uses_, step.slots[k], &Use::binding);
    Use* u = at == uses_.end() ? nullptr : &*at;
    if (!u) {
      u = &uses_.emplace_back(Use{.binding = step.slots[k], .last_step = index, .layout = l});
    } else {
      u->one_layout = u->one_layout && u->layout.shape == l.shape && u->layout.offset == l.offset &&
                      u->layout.strides == l.strides;
    }
    if (written) {
      u->writer = index;
      u->row_elements = num_elements(l.shape) / rows_;
    }
    u->last_step = index;
    const int64_t bytes = row_bytes(l);
    u->wide += bytes > l.dtype.size();
    row_bytes_ += std::max<int64_t>(bytes - u->row_bytes, 0);
    u->row_bytes = std::max(u->row_bytes, bytes);
  }
}

void UnitBuilder::add(Step& step, uint32_t in_place, bool in_front) {
  const size_t at = in_front ? 0 : steps_.size();
  steps_.insert(steps_.begin() + at, std::move(step));
  in_place_.insert(in_place_.begin() + at, in_place);
  if (!in_front) return note(steps_.back(), static_cast<int>(at));
  uses_.clear();
  row_bytes_ = 0;
  for (size_t i = 0; i < steps_.size(); ++i) note(steps_[i], static_cast<int>(i));
}

bool UnitBuilder::may_wait_for(const Step& step) const {
  if (step.unit) return false;
  int64_t written = 0;
  for (size_t k = 0; k < step.slots.size(); ++k) {
    const Use* u = find(step.slots[k]);
    if (static_cast<int>(k) >= step.n_inputs)
      written += layout_bytes(step.operands[k]);
    else if (u && u->writer >= 0)
      return false;
  }
  return written < target_.caps.unit_bytes;
}

bool UnitBuilder::is_useful() const {
  return steps_.size() > 1 && std::ranges::any_of(uses_, [](const Use& u) { return u.wide > 1; });
}

void UnitBuilder::release(std::vector<Step>& steps, SmallVector<uint32_t, 4>& in_place) {
  std::ranges::move(steps_, std::back_inserter(steps));
  in_place.insert(in_place.end(), in_place_.begin(), in_place_.end());
  steps_.clear();
}

/// Inputs that are read for the last time before any output of their width is written: by the same
/// step only if that is a program, which goes element by element.
uint32_t UnitBuilder::free_inputs(const Step& unit, const std::vector<const Use*>& operands) const {
  uint32_t free = 0;
  for (int k = 0; k < unit.n_inputs && k < 32; ++k) {
    const Use& in = *operands[k];
    bool is_free = in.one_layout && is_row_contiguous(in.layout.shape, in.layout.strides);
    for (size_t o = unit.n_inputs; o < operands.size(); ++o) {
      if (unit.operands[o].dtype.size() != in.layout.dtype.size()) continue;
      const int writer = operands[o]->writer;
      is_free =
          is_free && (writer > in.last_step || (writer == in.last_step && !steps_[writer].op));
    }
    if (is_free) free |= 1u << k;
  }
  return free;
}

Step UnitBuilder::finish(const std::function<bool(int binding)>& inside, uint32_t& in_place) {
  auto unit = std::make_shared<RowUnit>();
  Step out;
  std::vector<int> number(seg_.slots.size());
  std::vector<const Use*> operands;
  auto add_operand = [&](const Use& u) {
    number[u.binding] = static_cast<int>(out.slots.size());
    out.slots.push_back(u.binding);
    out.operands.push_back(u.layout);
    operands.push_back(&u);
  };
  for (const Use& u : uses_)
    if (u.writer < 0) add_operand(u);
  out.n_inputs = static_cast<int>(out.slots.size());
  for (const Use& u : uses_) {
    if (u.writer < 0) continue;
    if (!inside(u.binding)) {
      add_operand(u);
      continue;
    }
    number[u.binding] = -1 - static_cast<int>(unit->temporaries.size());
    unit->temporaries.push_back(u.row_elements * u.layout.dtype.size());
  }
  in_place = free_inputs(out, operands);
  out.origin = steps_.back().origin;
  unit->rows = rows_;
  for (Step& step : steps_) {
    for (int& slot : step.slots) slot = number[slot];
    unit->steps.push_back(std::move(step));
  }
  out.unit = std::move(unit);
  return out;
}

}  // namespace mlx::core
