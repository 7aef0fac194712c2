// Which steps one kernel computes row by row, and how threads share a row.
#include <algorithm>
#include <bit>
#include <string_view>

#include "mlx/backend/gpu/families/row_unit.h"
#include "mlx/ops/reduce.h"

namespace mlx::core::gpu {

namespace {

constexpr int64_t kLanes = 32, kBlock = 512, kLeast = 64, kMost = 16384, kLongest = 65536;
constexpr int64_t kMostWarps = 8, kUsualEach = 32, kMostEach = 64;
constexpr int64_t kMostRegisters = 80;  // of a thread, for elements of rows
constexpr int64_t kMostCode = 640;      // instructions of programs, times elements of a thread
constexpr size_t kMostValues = 20;

/// The axes of a layout that count rows, and those of a row, each merged.
struct Split {
  Shape rows, row;
  Strides row_strides, strides;
};
std::optional<Split> split_rows(const Layout& l, int64_t rows) {
  size_t lead = 0;
  for (int64_t n = 1; n != rows; n *= l.shape[lead++])
    if (lead == l.shape.size()) return {};
  auto merged = [&](size_t begin, size_t end, Shape& shape, Strides& strides) {
    shape.assign(l.shape.begin() + begin, l.shape.begin() + end);
    std::vector<Strides> all{Strides(l.strides.begin() + begin, l.strides.begin() + end)};
    collapse_axes(shape, all);
    strides = all[0];
  };
  Split s;
  merged(0, lead, s.rows, s.strides);
  merged(lead, l.shape.size(), s.row, s.row_strides);
  return s;
}

/// Collects the values of a unit, step by step.
class FormBuilder {
 public:
  explicit FormBuilder(int64_t rows) { form_.rows = rows; }

  bool add(const Step& step, int number) {
    SmallVector<int, 8> operands;
    const int64_t m = num_elements(step.operands[0].shape) / form_.rows;
    if (m > 1 && !set_length(m)) return false;
    if (step.op && m == 1) return false;
    for (int k = 0; k < static_cast<int>(step.operands.size()); ++k) {
      const Layout& l = step.operands[k];
      const int value = k < step.n_inputs ? read(step.slots[k], l, number)
                                          : written(step.slots[k], l, number, step.op, m);
      if (value < 0) return false;
      operands.push_back(value);
    }
    form_.operands.push_back(operands);
    reduces_.push_back(step.op != nullptr);
    if (m > 1) code_ += static_cast<int64_t>(step.program.code.size());
    return form_.values.size() <= kMostValues;
  }

  std::optional<RowForm> finish() {
    if (form_.n < kLeast || form_.n > kLongest || form_.rows >= INT32_MAX) return {};
    const int64_t words = most_words(), blocks = (form_.n + kBlock - 1) / kBlock;
    form_.blocks = static_cast<int>(blocks);
    if (form_.n > kMost) return in_parts();
    for (int64_t warps = 1; warps <= std::min(kMostWarps, 2 * blocks - 1); warps *= 2) {
      int64_t each = (blocks + warps - 1) / warps * (kBlock / kLanes);
      if (blocks == 1)
        each = static_cast<int64_t>(
            std::bit_ceil(static_cast<uint64_t>((form_.n + kLanes - 1) / kLanes)));
      if (each > (warps == kMostWarps ? kMostEach : kUsualEach) || each * words > kMostRegisters ||
          each * code_ > kMostCode)
        continue;
      form_.warps = static_cast<int>(warps);
      form_.each = static_cast<int>(each);
      form_.whole = warps * each * kLanes == form_.n;
      // Conditions on elements of partial rows take registers too.
      const int64_t registers = each * words - each * summed_words() / 2 + (form_.whole ? 0 : 8);
      form_.resident = registers <= 32 ? 4 : registers <= 48 ? 3 : 2;
      return form_;
    }
    return {};
  }

 private:
  /// A long row: the warps of a block have a block of elements each at a time.
  std::optional<RowForm> in_parts() {
    constexpr int64_t kEach = kBlock / kLanes, kPart = kMostWarps * kBlock;
    if (kEach * code_ > kMostCode) return {};
    form_.warps = kMostWarps;
    form_.each = kEach;
    form_.parts = static_cast<int>((form_.n + kPart - 1) / kPart);
    form_.whole = form_.n % kPart == 0;
    form_.resident = 4;
    return form_;
  }
  bool set_length(int64_t n) {
    if (form_.n == 0) form_.n = n;
    return form_.n == n;
  }
  int add_value(RowValue value) {
    form_.values.push_back(std::move(value));
    return static_cast<int>(form_.values.size()) - 1;
  }

  /// The value that a step reads so, or -1.
  int read(int slot, const Layout& l, int number) {
    const std::optional<Split> s = split_rows(l, form_.rows);
    if (!s || s->row.size() != 1 || s->rows.size() > device::kMostAxes) return -1;
    const bool same = s->row[0] == 1 || s->row_strides[0] == 0;
    for (size_t v = 0; v < form_.values.size(); ++v) {
      RowValue& value = form_.values[v];
      if (value.slot != slot) continue;
      if (value.written) {
        // Elements of threads are not exchanged.
        if (value.is_array && (same || s->row_strides[0] != 1 || l.offset != 0)) return -1;
      } else if (value.is_array == same || value.offset != l.offset || value.rows != s->rows ||
                 value.strides != s->strides || (!same && value.step != s->row_strides[0])) {
        continue;
      }
      value.last = number;
      return static_cast<int>(v);
    }
    return add_value({slot, l.dtype, false, !same, number, number, l.offset, s->rows, s->strides,
                      same ? 0 : s->row_strides[0]});
  }
  /// The value that a step writes, or -1. `m`: elements of its iteration for each row.
  int written(int slot, const Layout& l, int number, bool reduces, int64_t m) {
    if (num_elements(l.shape) / form_.rows != (reduces ? 1 : m)) return -1;
    return add_value({slot, l.dtype, true, !reduces && m > 1, number, number, 0, {}, {}});
  }

  /// The most registers that the values have at once, for each element of a thread. The results of
  /// a step take those of values that it is the last to use.
  int64_t most_words() const {
    int64_t most = 1;
    for (int step = 0; step < static_cast<int>(form_.operands.size()); ++step) {
      int64_t before = 0, after = 0;
      for (const RowValue& v : form_.values) {
        if (!v.is_array || v.first > step || v.last < step) continue;
        const int64_t words = std::max<int64_t>(v.type.size() / 4, 1);
        if (v.first < step || !v.written) before += words;
        if (v.last > step) after += words;
      }
      most = std::max({most, before, after});
    }
    return most;
  }

  /// Registers, for each element, of a value that the next step reduces and none else reads, beside
  /// the other values: compilers compute some elements at a time.
  int64_t summed_words() const {
    int64_t words = 0;
    for (const RowValue& v : form_.values)
      if (v.is_array && v.written && v.last == v.first + 1 && reduces_[v.last])
        words = std::max<int64_t>({words, v.type.size() / 4, 1});
    return words;
  }

  RowForm form_ = {};
  std::vector<bool> reduces_;  ///< of each step
  int64_t code_ = 0;
};

}  // namespace

std::optional<RowForm> row_form(std::span<const Step* const> steps, int64_t rows) {
  FormBuilder builder(rows);
  for (size_t i = 0; i < steps.size(); ++i)
    if (!builder.add(*steps[i], static_cast<int>(i))) return {};
  return builder.finish();
}

int64_t unit_rows(const Step& step) {
  const Program& p = step.program;
  if (!step.loop.empty() || step.workspace >= 0 || step.epilogue >= 0 || step.unit ||
      !p.numberings.empty() || step.operands.empty())
    return 0;
  if (!step.op) return kAnyRows;
  const std::string_view op = step.op->name;
  if (op != "reduce" && op != "arg_reduce") return 0;
  const auto& axes = attrs_as<ReduceAttrs>(step.attrs.get()).axes;
  const Shape& shape = step.operands[0].shape;
  const size_t kept = shape.size() - axes.size();
  int64_t rows = 1;
  for (size_t d = 0; d < kept; ++d) rows *= shape[d];
  // The last axes: all behind the first one that is reduced are.
  return axes.empty() || static_cast<size_t>(axes[0]) != kept ? 0 : rows;
}

bool is_row_unit(std::span<const Step* const> steps, int64_t rows) {
  return row_form(steps, rows).has_value();
}

}  // namespace mlx::core::gpu
