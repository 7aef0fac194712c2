// Reads at indices: take, gather, take_along_axis, slices that start at computed places.
#include "mlx/backend/gpu/families/index.h"

#include <algorithm>

#include "mlx/backend/common/index_error.h"
#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/index.h"
#include "mlx/ops/slice.h"

namespace mlx::core::gpu {

int64_t index_type(Dtype t) {
  const bool is_signed = t == int8 || t == int16 || t == int32 || t == int64;
  return is_signed ? -t.size() : t.size();
}

void raise_index(const char* op, const device::ErrorRecord& record, int64_t type, int axis,
                 int64_t size, int64_t span) {
  const std::string index =
      type < 0 ? std::to_string(record.value) : std::to_string(static_cast<uint64_t>(record.value));
  bad_index(op, index, axis, size, span);
}

bool Indices::set(const char* op, std::span<const Layout> operands, const Shape& shape,
                  std::vector<IndexedAxis> axes) {
  op_ = op;
  axes_ = std::move(axes);
  arguments_ = {};
  if (axes_.size() > device::kMostIndices) return false;
  for (const IndexedAxis& x : axes_) {
    const Layout& l = operands[x.operand];
    device::IndexArgument& to = arguments_.index[arguments_.indices++];
    to.type = index_type(l.dtype);
    to.size = x.size;
    to.span = x.span;
    to.stride = x.stride;
    const int64_t step = x.element > 0 ? l.strides[0] : 0;
    offsets_.push_back((l.offset + x.element * step) * l.dtype.size());
    Strides strides(shape.size(), 0);
    if (x.element < 0)  // the last axes are the operand's; axes of length 1 repeat
      for (size_t own = l.shape.size(), d = 0; d < own; ++d)
        if (l.shape[d] != 1) strides[shape.size() - own + d] = l.strides[d];
    device::Axes* const walk = &to.walk;
    if (!set_axes({&walk, 1}, shape, {strides})) return false;
  }
  return true;
}

device::Positions Indices::at(const Enqueue& to, std::span<const uint64_t> operands) const {
  device::Positions p = arguments_;
  p.record = static_cast<int64_t>(to.record());
  for (size_t k = 0; k < axes_.size(); ++k)
    p.index[k].address = static_cast<int64_t>(operands[axes_[k].operand]) + offsets_[k];
  return p;
}

void Indices::raise(const device::ErrorRecord& record) const {
  const IndexedAxis& x = axes_.at(record.operand);
  raise_index(op_, record, arguments_.index[record.operand].type, x.axis, x.size, x.span);
}

std::vector<IndexedAxis> slice_axes(const DynamicSliceAttrs& attrs, int operand,
                                    const Layout& sliced) {
  std::vector<IndexedAxis> axes;
  for (size_t k = 0; k < attrs.axes.size(); ++k) {
    const int axis = attrs.axes[k];
    axes.push_back({operand, axis, sliced.shape[axis], attrs.slice_size[axis], sliced.strides[axis],
                    static_cast<int>(k)});
  }
  return axes;
}

namespace {

using device::GatherArguments;

Shape head(const Shape& s, int64_t n) { return {s.begin(), s.begin() + n}; }
Shape tail(const Shape& s, int64_t n) { return {s.begin() + n, s.end()}; }

/// A read at indices: loops around the positions, the positions, and the elements read at each.
struct Gather {
  Shape outer, positions, inner;
  Strides outer_strides, position_strides, inner_strides;
  std::vector<IndexedAxis> axes;
  const char* op;

  bool plan(std::span<const Layout> operands, GatherArguments& p, Indices& indices) const {
    p.outer_count = num_elements(outer);
    p.position_count = num_elements(positions);
    p.inner_count = num_elements(inner);
    device::Axes* const to[] = {&p.outer, &p.position, &p.inner};
    return set_axes({&to[0], 1}, outer, {outer_strides}) &&
           set_axes({&to[1], 1}, positions, {position_strides}) &&
           set_axes({&to[2], 1}, inner, {inner_strides}) &&
           indices.set(op, operands, positions, axes);
  }
};

Gather take_of(const Attrs* attrs, std::span<const Layout> operands, int) {
  const Layout &a = operands[0], &at = operands[1];
  const int axis = attrs_as<TakeAttrs>(attrs).axis;
  return {head(a.shape, axis),
          at.shape,
          tail(a.shape, axis + 1),
          head(a.strides, axis),
          Strides(at.shape.size(), 0),
          tail(a.strides, axis + 1),
          {{1, axis, a.shape[axis], 1, a.strides[axis]}},
          "take"};
}
Gather along_axis_of(const Attrs* attrs, std::span<const Layout> operands, int) {
  const Layout &a = operands[0], &at = operands[1];
  const int axis = attrs_as<TakeAttrs>(attrs).axis;
  Strides strides = a.strides;
  strides[axis] = 0;
  return {{},
          at.shape,
          {},
          {},
          strides,
          {},
          {{1, axis, a.shape[axis], 1, a.strides[axis]}},
          "take_along_axis"};
}
Gather gather_of(const Attrs* attrs, std::span<const Layout> operands, int n_inputs) {
  const Layout& a = operands[0];
  const auto& g = attrs_as<GatherAttrs>(attrs);
  const Shape& out = operands[n_inputs].shape;
  const Shape positions = head(out, static_cast<int64_t>(out.size() - a.shape.size()));
  Gather r{{}, positions, g.slice_sizes, {}, Strides(positions.size(), 0), a.strides, {}, "gather"};
  for (size_t k = 0; k < g.axes.size(); ++k) {
    const int axis = g.axes[k];
    r.axes.push_back(
        {static_cast<int>(k) + 1, axis, a.shape[axis], g.slice_sizes[axis], a.strides[axis]});
  }
  return r;
}

/// Whether rows are whole pieces of 16 bytes, in an operand that begins at one.
bool in_pieces(const Gather& g, Dtype t) {
  const int64_t piece = 16 / t.size();
  auto whole = [&](const Shape& shape, const Strides& strides) {
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1 && strides[d] % piece) return false;
    return true;
  };
  for (const IndexedAxis& x : g.axes)
    if (x.stride % piece) return false;
  return piece > 1 && num_elements(g.inner) % piece == 0 &&
         is_row_contiguous(g.inner, g.inner_strides) && whole(g.outer, g.outer_strides) &&
         whole(g.positions, g.position_strides);
}

using GatherForm = Gather (*)(const Attrs*, std::span<const Layout>, int);

template <GatherForm form>
class GatherKernel final : public StepKernel<GatherArguments> {
 public:
  GatherKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const Gather gather = form(step.attrs.get(), found_operands(step), step.n_inputs);
    gather.plan(found_operands(step), p, indices_);
    p.pieces = in_pieces(gather, step.operands[0].dtype);
    bind(p.in, 0);
    bind(p.out, step.n_inputs);
    const int64_t count = num_elements(step.operands[step.n_inputs].shape);
    const int64_t each = p.pieces ? 16 / step.operands[0].dtype.size() : 1;
    blocks = blocks_for(count ? count / each : p.position_count);
    // Indices are checked also where nothing is read.
    if (count)
      kernel = kernels::gather(device, bits_of(step.operands[0].dtype), index_for(count));
    else
      check_ = kernels::find_offsets(device);
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override { indices_.raise(record); }

 private:
  void run(const Enqueue& to, GatherArguments& bound,
           std::span<const uint64_t> operands) const override {
    bound.at = indices_.at(to, operands);
    if (check_) return check_.launch(to, blocks, {0, p.position_count, bound.at});
    kernel.launch(to, blocks, bound);
  }
  Indices indices_;
  KernelOn<device::OffsetsArguments> check_;
};

template <GatherForm form>
bool find_gather(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                 const DeviceState&, Requirements&) {
  GatherArguments p = {};
  Indices indices;
  return is_rows(operands[n_inputs]) && form(attrs, operands, n_inputs).plan(operands, p, indices);
}

Gather dynamic_slice_of(const Attrs* attrs, std::span<const Layout> operands, int) {
  const Layout& a = operands[0];
  const auto& s = attrs_as<DynamicSliceAttrs>(attrs);
  return {{}, {}, s.slice_size, {}, {}, a.strides, slice_axes(s, 1, a), "slice"};
}

constexpr KernelEntry kIndexKernels[] = {
    {"take", find_gather<take_of>, prepare_as<GatherKernel<take_of>>},
    {"gather", find_gather<gather_of>, prepare_as<GatherKernel<gather_of>>},
    {"dynamic_slice", find_gather<dynamic_slice_of>, prepare_as<GatherKernel<dynamic_slice_of>>},
    {"take_along_axis", find_gather<along_axis_of>, prepare_as<GatherKernel<along_axis_of>>},
};

}  // namespace

const std::span<const KernelEntry> index_kernels = kIndexKernels;

}  // namespace mlx::core::gpu
