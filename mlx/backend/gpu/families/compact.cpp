// Selection by masks: positions of true elements, and reads and writes of the slices there.
#include "mlx/ops/compact.h"

#include <algorithm>

#include "mlx/backend/common/mask_error.h"
#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::CompactArguments;
using device::MaskArguments;
using device::NonzeroArguments;

constexpr int64_t kCompactTile = 2048, kMostCompactChunks = 4096;

/// How a mask of n elements is counted: it selects `least` to `most`, of which the positions of
/// `kept` are written.
MaskArguments plan_mask(int64_t n, int64_t least, int64_t most, int64_t kept) {
  MaskArguments p = {};
  p.n = n;
  const int64_t share = (n + kMostCompactChunks - 1) / kMostCompactChunks;
  p.chunk = std::max(kCompactTile, (share + kCompactTile - 1) / kCompactTile * kCompactTile);
  p.chunks = (n + p.chunk - 1) / p.chunk;
  p.least = least;
  p.most = most;
  p.kept = kept;
  return p;
}
size_t workspace_bytes(const MaskArguments& p) {
  return static_cast<size_t>(p.chunks + 1 + p.kept) * sizeof(int64_t);
}

/// A step on what a mask selects: counts that, and finds the positions, before it goes on.
template <class T>
class OnSelected : public StepKernel<T> {
 public:
  OnSelected(const Step& step, const MaskArguments& mask, int operand, DeviceState& device)
      : StepKernel<T>(step),
        count_(kernels::count_selected(device)),
        add_(kernels::add_counts(device)) {
    MaskArguments& p = this->p.mask;
    p = mask;
    this->bind(p.mask, operand);
    this->bind(p.starts, step.workspace);
    this->bind_record(p.record);
    if (p.kept > 0) find_ = kernels::find_positions(device);
  }

 protected:
  void run(const Enqueue& to, T& bound, std::span<const uint64_t>) const override {
    MaskArguments& p = bound.mask;
    p.positions = p.starts + (p.chunks + 1) * static_cast<int64_t>(sizeof(int64_t));
    count_.launch(to, p.chunks, p);
    add_.launch(to, 1, p);
    if (find_) find_.launch(to, p.chunks, p);
    this->kernel.launch(to, this->blocks, bound);
  }

 private:
  KernelOn<MaskArguments> count_, add_, find_;
};

//--- nonzero ------------------------------------------------------------------------------------

MaskArguments nonzero_plan(const Attrs* attrs, const Layout& mask) {
  const int64_t count = attrs_as<NonzeroAttrs>(attrs).count;
  return plan_mask(num_elements(mask.shape), count, count, 0);
}

class Nonzero final : public OnSelected<NonzeroArguments> {
 public:
  Nonzero(const Step& step, DeviceState& device)
      : OnSelected(step, nonzero_plan(step.attrs.get(), step.operands[0]), 0, device) {
    const auto& a = attrs_as<NonzeroAttrs>(step.attrs.get());
    const Layout &mask = step.operands[0], &out = step.operands[1];
    const auto rank = static_cast<int64_t>(mask.shape.size());
    p.along = a.rows ? rank : 1;
    p.across = a.rows ? 1 : a.count;
    p.axes.rank = rank;
    std::ranges::copy(mask.shape, p.axes.shape);
    bind(p.out, 1);
    if (num_elements(out.shape) == 0) return;
    kernel = kernels::nonzero(device, out.dtype);
    blocks = p.mask.chunks;
  }
  void raise(const device::ErrorRecord&) const override { bad_mask("nonzero"); }
};

bool find_nonzero(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                  const DeviceState&, Requirements& needs) {
  needs.workspace = workspace_bytes(nonzero_plan(attrs, operands[0]));
  return all_in_rows(operands, n_inputs, needs) && operands[0].shape.size() <= device::kMostAxes;
}

//--- slices where a mask holds ------------------------------------------------------------------

Shape behind(const Layout& l, const Layout& mask) {
  return Shape(l.shape.begin() + static_cast<int64_t>(mask.shape.size()), l.shape.end());
}

/// The mask that selects the slices, their number, and what is moved.
struct CompactForm {
  int moved;  ///< operand
  MaskArguments mask;
  int64_t count, row;
  bool elements;  ///< moved as they are found
};
CompactForm compact_of(const Attrs* attrs, std::span<const Layout> operands) {
  const auto& a = attrs_as<CompactAttrs>(attrs);
  const int64_t row = num_elements(behind(operands[0], operands[1]));
  const bool elements = row == 1 && a.exact;
  return {0,
          plan_mask(num_elements(operands[1].shape), a.exact ? a.count : 0, a.count,
                    elements ? 0 : a.count),
          a.count, row, elements};
}
CompactForm masked_scatter_of(const Attrs*, std::span<const Layout> operands) {
  const int64_t n = num_elements(operands[1].shape), values = operands[2].shape[0];
  const int64_t count = std::min(n, values), row = num_elements(behind(operands[0], operands[1]));
  return {2, plan_mask(n, 0, values, row == 1 ? 0 : count), count, row, row == 1};
}
using DescribeCompact = CompactForm (*)(const Attrs*, std::span<const Layout>);

template <DescribeCompact describe>
class Slices final : public OnSelected<CompactArguments> {
 public:
  Slices(const Step& step, DeviceState& device)
      : Slices(step, describe(step.attrs.get(), found_operands(step)), device) {}
  void raise(const device::ErrorRecord& record) const override {
    if (writes_ && record.value > values_) few_values(values_, record.value);
    bad_mask(writes_ ? "masked_scatter" : "index");
  }

 private:
  Slices(const Step& step, const CompactForm& form, DeviceState& device)
      : OnSelected(step, form.mask, 1, device), writes_(form.moved != 0) {
    const Layout &from = step.operands[form.moved], &mask = step.operands[1],
                 &out = step.operands[step.n_inputs];
    values_ = from.shape.empty() ? 0 : from.shape[0];
    p.count = form.count;
    p.row = form.row;
    bind(p.in, form.moved);
    bind(p.out, step.n_inputs);
    const auto split = static_cast<int64_t>(mask.shape.size());
    if (writes_) {
      copies_.add(0, step.operands[0], step.n_inputs, out, device);
    } else {
      device::Axes *const position = &p.position, *const inner = &p.inner;
      set_axes({&position, 1}, mask.shape,
               {Strides(from.strides.begin(), from.strides.begin() + split)});
      set_axes({&inner, 1}, behind(from, mask),
               {Strides(from.strides.begin() + split, from.strides.end())});
    }
    const int64_t moved = p.count * p.row;
    if (moved == 0) return;
    blocks = form.elements ? form.mask.chunks : blocks_for(moved);
    const Dtype type = bits_of(out.dtype);
    if (form.elements)
      kernel =
          (writes_ ? kernels::masked_scatter_elements : kernels::compact_elements)(device, type);
    else
      kernel =
          (writes_ ? kernels::masked_scatter : kernels::compact)(device, type, index_for(moved));
  }
  void run(const Enqueue& to, CompactArguments& bound,
           std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
    OnSelected::run(to, bound, operands);
  }

  Copies copies_;
  bool writes_;
  int64_t values_;
};

template <DescribeCompact describe>
bool find_slices(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                 const DeviceState&, Requirements& needs) {
  const Layout &a = operands[0], &mask = operands[1], &out = operands[n_inputs];
  const CompactForm form = describe(attrs, operands);
  needs.inputs = {Accepts::any, Accepts::rows};
  if (form.moved != 0) {
    needs.inputs.push_back(Accepts::rows);
    needs.in_place = 1;
  }
  needs.workspace = workspace_bytes(form.mask);
  device::Axes axes = {};
  device::Axes* const to = &axes;
  const auto split = static_cast<int64_t>(mask.shape.size());
  return is_rows(out) &&
         set_axes({&to, 1}, mask.shape, {Strides(a.strides.begin(), a.strides.begin() + split)}) &&
         set_axes({&to, 1}, behind(a, mask), {Strides(a.strides.begin() + split, a.strides.end())});
}
constexpr KernelEntry kCompactKernels[] = {
    {"nonzero", find_nonzero, prepare_as<Nonzero>},
    {"compact", find_slices<compact_of>, prepare_as<Slices<compact_of>>},
    {"masked_scatter", find_slices<masked_scatter_of>, prepare_as<Slices<masked_scatter_of>>},
};

}  // namespace

const std::span<const KernelEntry> compact_kernels = kCompactKernels;

}  // namespace mlx::core::gpu
