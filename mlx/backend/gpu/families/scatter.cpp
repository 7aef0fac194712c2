// Writes at indices: scatter, scatter_axis, updates of slices that start at computed places.
#include "mlx/ops/scatter.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/families/sorted_updates.h"

namespace mlx::core::gpu {

namespace {

using device::ScatterArguments;
using device::ScatterAxisArguments;

/// Into how many parts, a power of two, the targets of a column are divided.
int64_t parts_for(int64_t updates, int64_t columns) {
  const int64_t wanted = std::min(updates, int64_t{1} << 15) / std::max<int64_t>(columns, 1);
  return std::clamp<int64_t>(
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(wanted, 1)))), 1,
      4096);
}

/// Slices of the result at positions that indices point to.
struct ScatterForm {
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
  Targets targets(Dtype dtype, const DeviceState& device) const {
    Targets t = {num_elements(positions), 1, 0, mode, dtype, device.hardware.get()};
    int64_t unit = 0;
    for (const IndexedAxis& x : axes) unit = std::gcd(unit, x.stride);
    t.unit = std::max<int64_t>(unit, 1);
    for (const IndexedAxis& x : axes)
      t.last += std::max<int64_t>(x.size - 1, 0) * x.stride / t.unit;
    return t;
  }
};

ScatterForm scatter_of(const Attrs* attrs, std::span<const Layout> operands, int n_inputs) {
  const auto& s = attrs_as<ScatterAttrs>(attrs);
  const Layout &updates = operands[n_inputs - 1], &out = operands[n_inputs];
  const auto at = static_cast<int64_t>(updates.shape.size() - out.shape.size());
  ScatterForm f;
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
ScatterForm slice_update_of(const Attrs* attrs, std::span<const Layout> operands, int n_inputs) {
  const auto& s = attrs_as<DynamicSliceAttrs>(attrs);
  const Layout &update = operands[1], &out = operands[n_inputs];
  return {{}, s.slice_size,     out.strides,   {}, update.strides, slice_axes(s, 2, out),
          1,  ScatterMode::set, "slice_update"};
}

using DescribeScatter = ScatterForm (*)(const Attrs*, std::span<const Layout>, int);

template <DescribeScatter describe>
class ScatterKernel final : public StepKernel<ScatterArguments> {
 public:
  ScatterKernel(const Step& step, DeviceState& device)
      : ScatterKernel(step, describe(step.attrs.get(), found_operands(step), step.n_inputs),
                      device) {}
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override { indices_.raise(record); }

 private:
  ScatterKernel(const Step& step, const ScatterForm& form, DeviceState& device) : StepKernel(step) {
    form.plan(found_operands(step), p, indices_);
    const Layout &out = step.operands[step.n_inputs], &updates = step.operands[form.updates];
    copies_.add(0, step.operands[0], step.n_inputs, out, device);
    bind(p.out, step.n_inputs);
    bind(p.updates, form.updates);
    bind(p.offsets, step.workspace);
    const bool writes = num_elements(updates.shape) > 0;
    const Targets targets = form.targets(out.dtype, device);
    if (writes && targets.sorted()) {
      sorted_.emplace(targets, out.dtype, p, device);
      keys_ = kernels::target_keys(device, targets.key());
      return;
    }
    offsets_ = kernels::find_offsets(device);
    if (!writes) return;
    kernel = kernels::scatter(device, scatter_instance(form.mode, out.dtype));
    blocks = blocks_for(p.columns * p.parts);
  }
  void run(const Enqueue& to, ScatterArguments& bound,
           std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
    if (p.positions == 0) return;
    const int64_t threads = blocks_for(p.positions);
    const device::Positions at = indices_.at(to, operands);
    if (sorted_) {
      const int64_t claims = sorted_->begin(to, bound.offsets);
      keys_.launch(to, threads, {bound.offsets, p.positions, sorted_->unit(), claims, at});
      return sorted_->launch(to, bound.offsets, bound.updates, bound.out);
    }
    offsets_.launch(to, threads, {bound.offsets, p.positions, at});
    kernel.launch(to, blocks, bound);
  }

  Indices indices_;
  Copies copies_;
  KernelOn<device::OffsetsArguments> offsets_;
  KernelOn<device::TargetKeysArguments> keys_;
  std::optional<SortedUpdates> sorted_;
};

template <DescribeScatter describe>
bool find_scatter(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                  const DeviceState& device, Requirements& needs) {
  const ScatterForm form = describe(attrs, operands, n_inputs);
  ScatterArguments p = {};
  Indices indices;
  if (!is_rows(operands[n_inputs]) || !form.plan(operands, p, indices)) return false;
  needs.in_place = 1;
  const Targets targets = form.targets(operands[n_inputs].dtype, device);
  needs.workspace =
      targets.sorted() ? targets.workspace() : static_cast<size_t>(p.positions) * sizeof(int64_t);
  return true;
}

/// The targets of scatter_axis, where lines are long.
Targets axis_targets(const Attrs* attrs, const Layout& at, const Layout& out,
                     const DeviceState& device) {
  const auto& a = attrs_as<ScatterAxisAttrs>(attrs);
  const bool is_long = at.shape[a.axis] > kWalked;
  return {is_long ? num_elements(at.shape) : 0,
          1,
          num_elements(out.shape),
          a.mode,
          out.dtype,
          device.hardware.get()};
}

class ScatterAxisKernel final : public StepKernel<ScatterAxisArguments> {
 public:
  ScatterAxisKernel(const Step& step, DeviceState& device)
      : StepKernel(step), workspace_(step.workspace) {
    const auto& a = attrs_as<ScatterAxisAttrs>(step.attrs.get());
    const Layout &at = step.operands[1], &out = step.operands[3];
    copies_.add(0, step.operands[0], 3, out, device);
    axis_ = a.axis;
    op_ = a.mode == ScatterMode::set ? "put_along_axis" : "scatter_add_axis";
    const Lines lines = lines_along(at.shape, axis_);
    p.type = index_type(at.dtype);
    p.n = lines.n;
    p.size = out.shape[axis_];
    p.inner = lines.stride;
    p.outer = lines.lines / std::max<int64_t>(lines.stride, 1);
    p.parts = parts_for(p.n, p.outer * p.inner);
    bind(p.indices, 1);
    bind(p.updates, 2);
    bind(p.out, 3);
    bind_record(p.record);
    const Targets targets = axis_targets(step.attrs.get(), at, out, device);
    if (targets.sorted()) {
      ScatterArguments updates = {};
      updates.positions = targets.count;
      updates.columns = 1;
      updates.position = {1, {targets.count}, {1}};
      sorted_.emplace(targets, out.dtype, updates, device);
      kernel = kernels::axis_keys(device, targets.key());
      blocks = blocks_for(lines.lines * p.n);
    } else {
      kernel = kernels::scatter_axis(device, scatter_instance(a.mode, out.dtype));
      blocks = blocks_for(lines.lines * p.parts);
    }
  }
  void raise(const device::ErrorRecord& record) const override {
    raise_index(op_, record, p.type, axis_, p.size, 1);
  }

 private:
  void run(const Enqueue& to, ScatterAxisArguments& bound,
           std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
    if (!sorted_) return kernel.launch(to, blocks, bound);
    const int64_t out = bound.out;
    bound.out = address(operands, workspace_);
    bound.claims = sorted_->begin(to, bound.out);
    kernel.launch(to, blocks, bound);
    sorted_->launch(to, bound.out, bound.updates, out);
  }

  Copies copies_;
  std::optional<SortedUpdates> sorted_;
  const char* op_;
  int axis_, workspace_;
};

bool find_axis(const Attrs* attrs, std::span<const Layout> operands, int, const DeviceState& device,
               Requirements& needs) {
  const Layout& out = operands[3];
  const Targets targets = axis_targets(attrs, operands[1], out, device);
  if (targets.sorted()) needs.workspace = targets.workspace();
  needs.inputs = {Accepts::any, Accepts::rows, Accepts::rows};
  needs.in_place = 1;
  return is_rows(out);
}
constexpr KernelEntry kScatterKernels[] = {
    {"scatter", find_scatter<scatter_of>, prepare_as<ScatterKernel<scatter_of>>},
    {"dynamic_slice_update", find_scatter<slice_update_of>,
     prepare_as<ScatterKernel<slice_update_of>>},
    {"scatter_axis", find_axis, prepare_as<ScatterAxisKernel>},
};

}  // namespace

const std::span<const KernelEntry> scatter_kernels = kScatterKernels;

}  // namespace mlx::core::gpu
