// Writes at indices: scatter, scatter_axis, updates of slices that start at computed places.
#include "mlx/ops/scatter.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/families/sorted_updates.h"

namespace mlx::core::gpu {

namespace {

using device::ScatterArguments;
using device::ScatterAxisArguments;

std::string kernel_source(const char* parameters, const char* function, const std::string& types) {
  return cat("MLX_KERNEL(scatter_kernel, ", parameters, ", p) { ", function, types, "(p); }\n");
}
/// Into how many parts, a power of two, the targets of a column are divided.
int64_t parts_for(int64_t updates, int64_t columns) {
  const int64_t wanted = std::min(updates, int64_t{1} << 15) / std::max<int64_t>(columns, 1);
  return std::clamp<int64_t>(
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(wanted, 1)))), 1,
      4096);
}

/// Slices of the result at positions that indices point to.
struct Form {
  Shape positions, slice;
  Strides target, position, column;  ///< of a slice in the result; of the updates
  std::vector<IndexedAxis> axes;
  int updates;  ///< operand
  ScatterMode mode;
  const char* op;
  bool plan(std::span<const Layout> operands, ScatterArguments& p, Indices& indices) const {
    p.positions = num_elements(positions);
    p.columns = num_elements(slice);
    // Slices that may overlap have one owner only if there is one slice.
    if (p.positions > 1)
      for (const IndexedAxis& x : axes)
        if (x.span > 1) return false;
    p.parts = parts_for(p.positions, p.columns);
    device::Axes* const to[] = {&p.target, &p.column};
    device::Axes* const position_axes = &p.position;
    return set_axes(to, slice, {target, column}) &&
           set_axes({&position_axes, 1}, positions, {position}) &&
           indices.set(op, operands, positions, axes);
  }
  /// The targets of the updates.
  Targets targets() const {
    Targets t = {num_elements(positions), 1, 0, mode};
    int64_t unit = 0;
    for (const IndexedAxis& x : axes) unit = std::gcd(unit, x.stride);
    t.unit = std::max<int64_t>(unit, 1);
    for (const IndexedAxis& x : axes)
      t.last += std::max<int64_t>(x.size - 1, 0) * x.stride / t.unit;
    return t;
  }
};

Form scatter_of(const Attrs* attrs, std::span<const Layout> operands, int n_inputs) {
  const auto& s = attrs_as<ScatterAttrs>(attrs);
  const Layout &updates = operands[n_inputs - 1], &out = operands[n_inputs];
  const auto at = static_cast<int64_t>(updates.shape.size() - out.shape.size());
  Form f;
  f.positions = Shape(updates.shape.begin(), updates.shape.begin() + at);
  f.slice = Shape(updates.shape.begin() + at, updates.shape.end());
  f.target = out.strides;
  f.position = Strides(updates.strides.begin(), updates.strides.begin() + at);
  f.column = Strides(updates.strides.begin() + at, updates.strides.end());
  for (size_t k = 0; k < s.axes.size(); ++k) {
    const int axis = s.axes[k];
    f.axes.push_back(
        {static_cast<int>(k) + 1, axis, out.shape[axis], f.slice[axis], out.strides[axis]});
  }
  f.updates = n_inputs - 1;
  f.mode = s.mode;
  f.op = "scatter";
  return f;
}
Form slice_update_of(const Attrs* attrs, std::span<const Layout> operands, int n_inputs) {
  const auto& s = attrs_as<DynamicSliceAttrs>(attrs);
  const Layout &update = operands[1], &out = operands[n_inputs];
  return {{}, s.slice_size,     out.strides,   {}, update.strides, slice_axes(s, 2, out),
          1,  ScatterMode::set, "slice_update"};
}

using Describe = Form (*)(const Attrs*, std::span<const Layout>, int);

class ScatterKernel final : public OpKernel {
 public:
  ScatterKernel(const Step& step, const Form& form, DeviceState& device)
      : updates_(form.updates), out_(step.n_inputs), workspace_(step.workspace) {
    form.plan({step.operands.data(), step.operands.size()}, arguments_, indices_);
    const Layout &a = step.operands[0], &out = step.operands[out_],
                 &updates = step.operands[updates_];
    copies_.add(0, a, out_, out, device);
    updates_offset_ = updates.offset * updates.dtype.size();
    out_offset_ = out.offset * out.dtype.size();
    writes_ = num_elements(updates.shape) > 0;
    const Targets targets = form.targets();
    if (writes_ && targets.sorted()) {
      sorted_.emplace(targets, out.dtype, arguments_, device);
      offsets_.function = device.kernel("scatter",
                                        kernel_source("TargetKeysArguments", "target_keys",
                                                      cat("<", element_type(targets.key()), ">")),
                                        "scatter_kernel");
      return;
    }
    offsets_.function = device.kernel(
        "scatter", kernel_source("OffsetsArguments", "find_offsets", ""), "scatter_kernel");
    if (writes_)
      scatter_.function =
          device.kernel("scatter",
                        kernel_source("ScatterArguments", "device::scatter",
                                      cat("<", scatter_instance(form.mode, out.dtype), ">")),
                        "scatter_kernel");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
    const ScatterArguments& p = arguments_;
    if (p.positions == 0) return;
    if (sorted_) return launch_sorted(to, operands);
    ArgumentBlock<device::OffsetsArguments> find{
        .p = {workspace_ < 0 ? 0 : static_cast<int64_t>(operands[workspace_]), p.positions,
              indices_.at(to, operands)}};
    offsets_.launch(to, blocks_for(p.positions), find.all());
    if (!writes_) return;
    ArgumentBlock<ScatterArguments> block{.p = p};
    block.p.out = static_cast<int64_t>(operands[out_]) + out_offset_;
    block.p.updates = static_cast<int64_t>(operands[updates_]) + updates_offset_;
    block.p.offsets = find.p.out;
    scatter_.launch(to, blocks_for(p.columns * p.parts), block.all());
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override { indices_.raise(record); }

 private:
  void launch_sorted(const Enqueue& to, std::span<const uint64_t> operands) const {
    const auto workspace = static_cast<int64_t>(operands[workspace_]);
    ArgumentBlock<device::TargetKeysArguments> keys{
        .p = {workspace, arguments_.positions, sorted_->unit(), sorted_->begin(to, workspace),
              indices_.at(to, operands)}};
    offsets_.launch(to, blocks_for(arguments_.positions), keys.all());
    sorted_->launch(to, workspace, static_cast<int64_t>(operands[updates_]) + updates_offset_,
                    static_cast<int64_t>(operands[out_]) + out_offset_);
  }

  ScatterArguments arguments_ = {};
  Indices indices_;
  Copies copies_;
  Kernel offsets_, scatter_;
  std::optional<SortedUpdates> sorted_;
  int updates_, out_, workspace_;
  bool writes_ = false;
  int64_t updates_offset_, out_offset_;
};

template <Describe describe>
bool find(const Attrs* attrs, std::span<const Layout> operands, int n_inputs, const DeviceState&,
          Requirements& needs) {
  const Layout& out = operands[n_inputs];
  const Form form = describe(attrs, operands, n_inputs);
  ScatterArguments p = {};
  Indices indices;
  if (!is_row_contiguous(out.shape, out.strides) || !form.plan(operands, p, indices)) return false;
  needs.in_place = 1;
  const Targets targets = form.targets();
  needs.workspace =
      targets.sorted() ? targets.workspace() : static_cast<size_t>(p.positions) * sizeof(int64_t);
  return true;
}
template <Describe describe>
std::unique_ptr<const OpKernel> prepare(const Step& step, DeviceState& device) {
  const std::span<const Layout> operands(step.operands.data(), step.outputs_end());
  return std::make_unique<const ScatterKernel>(
      step, describe(step.attrs.get(), operands, step.n_inputs), device);
}

/// The targets of scatter_axis, where lines are long.
Targets axis_targets(const Attrs* attrs, const Layout& at, const Layout& out) {
  const auto& a = attrs_as<ScatterAxisAttrs>(attrs);
  const bool is_long = at.shape[a.axis] > kWalked;
  return {is_long ? num_elements(at.shape) : 0, 1, num_elements(out.shape), a.mode};
}

class ScatterAxisKernel final : public OpKernel {
 public:
  ScatterAxisKernel(const Step& step, DeviceState& device) : workspace_(step.workspace) {
    const auto& a = attrs_as<ScatterAxisAttrs>(step.attrs.get());
    const Layout &at = step.operands[1], &out = step.operands[3];
    copies_.add(0, step.operands[0], 3, out, device);
    for (int k = 0; k < 4; ++k)
      offsets_[k] = step.operands[k].offset * step.operands[k].dtype.size();
    axis_ = a.axis;
    op_ = a.mode == ScatterMode::set ? "put_along_axis" : "scatter_add_axis";
    ScatterAxisArguments& p = arguments_;
    p.type = index_type(at.dtype);
    p.n = at.shape[axis_];
    p.size = out.shape[axis_];
    p.outer = num_elements(Shape(at.shape.begin(), at.shape.begin() + axis_));
    p.inner = num_elements(Shape(at.shape.begin() + axis_ + 1, at.shape.end()));
    p.parts = parts_for(p.n, p.outer * p.inner);
    const Targets targets = axis_targets(step.attrs.get(), at, out);
    if (targets.sorted()) {
      ScatterArguments updates = {};
      updates.positions = targets.count;
      updates.columns = 1;
      updates.position = {1, {targets.count}, {1}};
      sorted_.emplace(targets, out.dtype, updates, device);
      kernel_.function = device.kernel("scatter",
                                       kernel_source("ScatterAxisArguments", "axis_keys",
                                                     cat("<", element_type(targets.key()), ">")),
                                       "scatter_kernel");
      return;
    }
    kernel_.function =
        device.kernel("scatter",
                      kernel_source("ScatterAxisArguments", "scatter_axis",
                                    cat("<", scatter_instance(a.mode, out.dtype), ">")),
                      "scatter_kernel");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
    const int64_t lines = arguments_.outer * arguments_.inner;
    if (lines * arguments_.n == 0) return;
    ArgumentBlock<ScatterAxisArguments> block{.p = arguments_};
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    block.p.indices = address(1);
    block.p.updates = address(2);
    block.p.out = address(3);
    block.p.record = static_cast<int64_t>(to.record);
    if (!sorted_) return kernel_.launch(to, blocks_for(lines * arguments_.parts), block.all());
    block.p.out = static_cast<int64_t>(operands[workspace_]);
    block.p.claims = sorted_->begin(to, block.p.out);
    kernel_.launch(to, blocks_for(lines * arguments_.n), block.all());
    sorted_->launch(to, block.p.out, address(2), address(3));
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override {
    raise_index(op_, record, arguments_.type, axis_, arguments_.size, 1);
  }

 private:
  ScatterAxisArguments arguments_ = {};
  Copies copies_;
  Kernel kernel_;
  std::optional<SortedUpdates> sorted_;
  const char* op_;
  int axis_, workspace_;
  int64_t offsets_[4];
};

bool find_axis(const Attrs* attrs, std::span<const Layout> operands, int, const DeviceState&,
               Requirements& needs) {
  const Layout& out = operands[3];
  const Targets targets = axis_targets(attrs, operands[1], out);
  if (targets.sorted()) needs.workspace = targets.workspace();
  needs.inputs = {Accepts::any, Accepts::rows, Accepts::rows};
  needs.in_place = 1;
  return is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_axis(const Step& step, DeviceState& device) {
  return std::make_unique<const ScatterAxisKernel>(step, device);
}

constexpr KernelEntry kEntries[] = {
    {"scatter", find<scatter_of>, prepare<scatter_of>},
    {"dynamic_slice_update", find<slice_update_of>, prepare<slice_update_of>},
    {"scatter_axis", find_axis, prepare_axis},
};

}  // namespace

const std::span<const KernelEntry> scatter_kernels = kEntries;

}  // namespace mlx::core::gpu
