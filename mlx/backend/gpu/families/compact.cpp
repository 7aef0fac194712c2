// Selection by masks: positions of true elements, and reads and writes of the slices there.
#include "mlx/ops/compact.h"

#include <algorithm>

#include "mlx/backend/common/mask_error.h"
#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

using device::CompactArguments;
using device::MaskArguments;
using device::NonzeroArguments;

constexpr int64_t kTile = 2048, kMostChunks = 4096;

/// How a mask of n elements is counted: it selects `least` to `most`, of which the positions of
/// `kept` are written.
MaskArguments plan(int64_t n, int64_t least, int64_t most, int64_t kept) {
  MaskArguments p = {};
  p.n = n;
  const int64_t share = (n + kMostChunks - 1) / kMostChunks;
  p.chunk = std::max(kTile, (share + kTile - 1) / kTile * kTile);
  p.chunks = (n + p.chunk - 1) / p.chunk;
  p.least = least;
  p.most = most;
  p.kept = kept;
  return p;
}
size_t workspace_bytes(const MaskArguments& p) {
  return static_cast<size_t>(p.chunks + 1 + p.kept) * sizeof(int64_t);
}

/// A kernel of device/compact.cuh; threads of one that counts meet at barriers.
FunctionHandle kernel(const char* parameters, const std::string& call, DeviceState& device,
                      bool in_step = false) {
  return device.kernel("compact",
                       cat(in_step ? "MLX_IN_STEP_KERNEL" : "MLX_KERNEL", "(compact_kernel, ",
                           parameters, ", p) { device::", call, "; }\n"),
                       "compact_kernel");
}

/// Counts what a mask selects, and finds the positions.
class Selection {
 public:
  Selection(const MaskArguments& p, int operand, const Step& step, DeviceState& device)
      : arguments_(p), operand_(operand), workspace_(step.workspace) {
    const Layout& mask = step.operands[operand];
    offset_ = mask.offset * mask.dtype.size();
    count_.function = kernel("MaskArguments", "count_selected(p)", device, true);
    add_.function = kernel("MaskArguments", "add_counts(p)", device, true);
    if (p.kept > 0) find_.function = kernel("MaskArguments", "find_positions(p)", device, true);
  }
  /// Enqueues that; the arguments for the kernels that follow.
  MaskArguments launch(const Enqueue& to, std::span<const uint64_t> operands) const {
    ArgumentBlock<MaskArguments> block{.p = arguments_};
    MaskArguments& p = block.p;
    p.mask = static_cast<int64_t>(operands[operand_]) + offset_;
    p.starts = static_cast<int64_t>(operands[workspace_]);
    p.positions = p.starts + (p.chunks + 1) * static_cast<int64_t>(sizeof(int64_t));
    p.record = static_cast<int64_t>(to.record);
    if (p.chunks > 0) count_.launch(to, p.chunks, block.all());
    add_.launch(to, 1, block.all());
    if (p.chunks > 0 && p.kept > 0) find_.launch(to, p.chunks, block.all());
    return p;
  }
  int64_t chunks() const { return arguments_.chunks; }

 private:
  MaskArguments arguments_;
  Kernel count_, add_, find_;
  int operand_, workspace_;
  int64_t offset_;
};

//--- nonzero ------------------------------------------------------------------------------------

MaskArguments nonzero_plan(const Attrs* attrs, const Layout& mask) {
  const int64_t count = attrs_as<NonzeroAttrs>(attrs).count;
  return plan(num_elements(mask.shape), count, count, 0);
}

class Nonzero final : public OpKernel {
 public:
  Nonzero(const Step& step, DeviceState& device)
      : selection_(nonzero_plan(step.attrs.get(), step.operands[0]), 0, step, device) {
    const auto& a = attrs_as<NonzeroAttrs>(step.attrs.get());
    const Layout &mask = step.operands[0], &out = step.operands[1];
    const auto rank = static_cast<int64_t>(mask.shape.size());
    arguments_.along = a.rows ? rank : 1;
    arguments_.across = a.rows ? 1 : a.count;
    arguments_.axes.rank = rank;
    std::ranges::copy(mask.shape, arguments_.axes.shape);
    out_ = out.offset * out.dtype.size();
    writes_ = num_elements(out.shape) > 0;
    if (writes_)
      kernel_.function = kernel("NonzeroArguments",
                                cat("nonzero<", element_type(out.dtype), ">(p)"), device, true);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    ArgumentBlock<NonzeroArguments> block{.p = arguments_};
    block.p.mask = selection_.launch(to, operands);
    block.p.out = static_cast<int64_t>(operands[1]) + out_;
    if (writes_) kernel_.launch(to, selection_.chunks(), block.all());
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord&) const override { bad_mask("nonzero"); }

 private:
  Selection selection_;
  NonzeroArguments arguments_ = {};
  Kernel kernel_;
  bool writes_;
  int64_t out_;
};

bool find_nonzero(const Attrs* attrs, std::span<const Layout> operands, int, const DeviceState&,
                  Requirements& needs) {
  const Layout &mask = operands[0], &out = operands[1];
  needs.inputs = {Accepts::rows};
  needs.workspace = workspace_bytes(nonzero_plan(attrs, mask));
  return mask.shape.size() <= device::kMostAxes && is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_nonzero(const Step& step, DeviceState& device) {
  return std::make_unique<const Nonzero>(step, device);
}

//--- slices where a mask holds ------------------------------------------------------------------

Shape behind(const Layout& l, const Layout& mask) {
  return Shape(l.shape.begin() + static_cast<int64_t>(mask.shape.size()), l.shape.end());
}

/// The mask that selects the slices, their number, and the name of the kernel that moves them.
struct Form {
  const char* name;
  int moved;  ///< operand
  MaskArguments mask;
  int64_t count, row;
  bool elements;  ///< moved as they are found
};
Form compact_of(const Attrs* attrs, std::span<const Layout> operands) {
  const auto& a = attrs_as<CompactAttrs>(attrs);
  const int64_t row = num_elements(behind(operands[0], operands[1]));
  const bool elements = row == 1 && a.exact;
  return {
      "compact",
      0,
      plan(num_elements(operands[1].shape), a.exact ? a.count : 0, a.count, elements ? 0 : a.count),
      a.count,
      row,
      elements};
}
Form masked_scatter_of(const Attrs*, std::span<const Layout> operands) {
  const int64_t n = num_elements(operands[1].shape), values = operands[2].shape[0];
  const int64_t count = std::min(n, values), row = num_elements(behind(operands[0], operands[1]));
  return {"masked_scatter", 2, plan(n, 0, values, row == 1 ? 0 : count), count, row, row == 1};
}
using Describe = Form (*)(const Attrs*, std::span<const Layout>);

class Slices final : public OpKernel {
 public:
  Slices(const Step& step, const Form& form, DeviceState& device)
      : selection_(form.mask, 1, step, device), n_inputs_(step.n_inputs), moved_(form.moved) {
    const Layout &from = step.operands[moved_], &mask = step.operands[1],
                 &out = step.operands[n_inputs_];
    writes_ = moved_ != 0;
    values_ = from.shape.empty() ? 0 : from.shape[0];
    arguments_.count = form.count;
    const auto split = static_cast<int64_t>(mask.shape.size());
    if (writes_) {
      copies_.add(0, step.operands[0], n_inputs_, out, device);
    } else {
      device::Axes *const position = &arguments_.position, *const inner = &arguments_.inner;
      set_axes({&position, 1}, mask.shape,
               {Strides(from.strides.begin(), from.strides.begin() + split)});
      set_axes({&inner, 1}, behind(from, mask),
               {Strides(from.strides.begin() + split, from.strides.end())});
    }
    arguments_.row = form.row;
    from_ = from.offset * from.dtype.size();
    out_ = out.offset * out.dtype.size();
    const int64_t moved = arguments_.count * arguments_.row;
    if (moved == 0) return;
    blocks_ = form.elements ? form.mask.chunks : blocks_for(moved);
    const char* const index = moved > INT32_MAX / 2 ? ", uint64_t" : ", uint32_t";
    kernel_.function =
        kernel("CompactArguments",
               cat(form.name, form.elements ? "_elements<" : "<", element_type(bits_of(out.dtype)),
                   form.elements ? "" : index, ">(p)"),
               device, form.elements);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
    ArgumentBlock<CompactArguments> block{.p = arguments_};
    block.p.mask = selection_.launch(to, operands);
    block.p.in = static_cast<int64_t>(operands[moved_]) + from_;
    block.p.out = static_cast<int64_t>(operands[n_inputs_]) + out_;
    if (blocks_ > 0) kernel_.launch(to, blocks_, block.all());
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override {
    if (writes_ && record.value > values_) few_values(values_, record.value);
    bad_mask(writes_ ? "masked_scatter" : "index");
  }

 private:
  Selection selection_;
  CompactArguments arguments_ = {};
  Copies copies_;
  Kernel kernel_;
  int n_inputs_, moved_;
  bool writes_;
  int64_t values_, from_, out_, blocks_ = 0;
};

template <Describe describe>
bool find_slices(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                 const DeviceState&, Requirements& needs) {
  const Layout &a = operands[0], &mask = operands[1], &out = operands[n_inputs];
  const Form form = describe(attrs, operands);
  needs.inputs = {Accepts::any, Accepts::rows};
  if (form.moved != 0) {
    needs.inputs.push_back(Accepts::rows);
    needs.in_place = 1;
  }
  needs.workspace = workspace_bytes(form.mask);
  device::Axes axes = {};
  device::Axes* const to = &axes;
  const auto split = static_cast<int64_t>(mask.shape.size());
  return is_row_contiguous(out.shape, out.strides) &&
         set_axes({&to, 1}, mask.shape, {Strides(a.strides.begin(), a.strides.begin() + split)}) &&
         set_axes({&to, 1}, behind(a, mask), {Strides(a.strides.begin() + split, a.strides.end())});
}
template <Describe describe>
std::unique_ptr<const OpKernel> prepare_slices(const Step& step, DeviceState& device) {
  const std::span<const Layout> operands(step.operands.data(), step.outputs_end());
  return std::make_unique<const Slices>(step, describe(step.attrs.get(), operands), device);
}

constexpr KernelEntry kEntries[] = {
    {"nonzero", find_nonzero, prepare_nonzero},
    {"compact", find_slices<compact_of>, prepare_slices<compact_of>},
    {"masked_scatter", find_slices<masked_scatter_of>, prepare_slices<masked_scatter_of>},
};

}  // namespace

const std::span<const KernelEntry> compact_kernels = kEntries;

}  // namespace mlx::core::gpu
