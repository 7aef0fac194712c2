// Convolutions, and the cotangents of their weights.
#include "mlx/backend/gpu/families/conv.h"

#include <algorithm>

#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

using device::ConvArguments;

ConvArguments geometry(const Shape& x, const Shape& y, const Shape& kernel, const ConvAttrs& c) {
  ConvArguments p = {};
  p.batch = x[0];
  p.channels = x.back();
  p.features = y.back();
  p.groups = c.groups;
  p.flip = c.flip;
  for (int d = 0; d < 3; ++d)
    p.in[d] = p.length[d] = p.kernel[d] = p.stride[d] = p.spread[d] = p.input_spread[d] = 1;
  const size_t n = x.size() - 2;
  for (size_t i = 0; i < n; ++i) {
    const size_t d = 3 - n + i;
    p.in[d] = x[i + 1];
    p.length[d] = y[i + 1];
    p.kernel[d] = kernel[i];
    p.stride[d] = c.stride[i];
    p.low[d] = c.padding_lo[i];
    p.spread[d] = c.kernel_dilation[i];
    p.input_spread[d] = c.input_dilation[i];
  }
  p.splits = 1;
  return p;
}
int64_t positions(const ConvArguments& p) {
  return p.batch * p.length[0] * p.length[1] * p.length[2];
}
int64_t patch(const ConvArguments& p) {
  return p.kernel[0] * p.kernel[1] * p.kernel[2] * (p.channels / p.groups);
}

namespace {

int64_t tiles(int64_t m, int64_t n) { return ((m + 63) / 64) * ((n + 63) / 64); }

/// The sum over positions is cut where the result has few tiles, by shapes alone.
ConvArguments weight_geometry(const Attrs* attrs, std::span<const Layout> operands) {
  const auto& a = attrs_as<ConvWeightAttrs>(attrs);
  ConvArguments p = geometry(operands[0].shape, operands[1].shape, a.kernel, a.conv);
  constexpr int64_t kBlocks = 256, kLeast = 1024;
  const int64_t all = positions(p), few = p.groups * tiles(p.features / p.groups, patch(p));
  p.splits = std::clamp<int64_t>(kBlocks / std::max<int64_t>(few, 1), 1,
                                 std::max<int64_t>(all / kLeast, 1));
  p.split = (all + p.splits - 1) / p.splits;
  return p;
}

ConvArguments geometry_of(const Attrs* attrs, std::span<const Layout> operands, bool weight) {
  if (weight) return weight_geometry(attrs, operands);
  const Shape& w = operands[1].shape;
  return geometry(operands[0].shape, operands[2].shape, Shape(w.begin() + 1, w.end() - 1),
                  attrs_as<ConvAttrs>(attrs));
}

class ConvKernel final : public StepKernel<ConvArguments> {
 public:
  ConvKernel(const Step& step, bool weight, DeviceState& device) : StepKernel(step) {
    const Layout& out = step.operands[2];
    const Dtype type = out.dtype;
    p = geometry_of(step.attrs.get(), found_operands(step), weight);
    bind(p.x, 0);
    bind(weight ? p.y : p.w, 1);
    bind(p.out, 2);
    const int64_t m = p.features / p.groups, n = patch(p);
    if (num_elements(out.shape) > 0)
      blocks = std::min<int64_t>(
          weight ? p.groups * p.splits * tiles(m, n) : p.groups * tiles(positions(p), m), 1 << 30);
    kernel = (weight ? kernels::convolve_weight : kernels::convolve)(
        device, type, sum_of(type), counts_in_32_bits(p, 0) ? "int32_t" : "int64_t");
    if (p.splits == 1) return;
    bind(p.parts, step.workspace);
    add_ = kernels::add_parts(device, type, sum_of(type));
  }

 private:
  void run(const Enqueue& to, ConvArguments& bound, std::span<const uint64_t>) const override {
    kernel.launch(to, blocks, bound);
    if (blocks && add_) add_.launch(to, blocks_for(p.features * patch(p)), bound);
  }
  KernelOn<ConvArguments> add_;
};

template <bool weight>
Precision precision_of_conv(const Attrs* attrs) {
  if constexpr (weight)
    return attrs_as<ConvWeightAttrs>(attrs).conv.precision;
  else
    return attrs_as<ConvAttrs>(attrs).precision;
}

/// The library of convolutions where it serves, without products of the input in its place.
template <bool weight>
LibraryPlan library_plan(const Attrs* attrs, std::span<const Layout> operands,
                         const ConvArguments& p, const PatchPlan& patches,
                         const DeviceState& device) {
  if (patches.in_place) return {};
  return plan_library(p, operands, precision_of_conv<weight>(attrs), weight, device);
}

template <bool weight>
bool find_conv(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState& device, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  if (!is_inexact(out.dtype) || is_complex(out.dtype) || operands[0].dtype != out.dtype ||
      operands[1].dtype != out.dtype || !all_in_rows(operands, n_inputs, needs))
    return false;
  const ConvArguments p = geometry_of(attrs, operands, weight);
  const PatchPlan plan = plan_patches(p, out.dtype, weight, device);
  const LibraryPlan library = library_plan<weight>(attrs, operands, p, plan, device);
  if (library.plan) {
    needs.workspace = library.bytes;
    if (!weight && library.transposed && !library.exchanges) needs.inputs[1] = Accepts::any;
    return true;
  }
  if (plan.rows)
    needs.workspace = plan.bytes;
  else if (p.splits > 1)
    needs.workspace =
        static_cast<size_t>(p.splits * p.features * patch(p) * sum_of(out.dtype).size);
  return true;
}
template <bool weight>
std::unique_ptr<const OpKernel> prepare_conv(const Step& step, DeviceState& device) {
  const std::span<const Layout> operands(step.operands.data(), step.operands.size());
  const ConvArguments p = geometry_of(step.attrs.get(), operands, weight);
  const Attrs* attrs = step.attrs.get();
  const PatchPlan plan = plan_patches(p, operands[2].dtype, weight, device);
  if (const LibraryPlan library = library_plan<weight>(attrs, operands, p, plan, device);
      library.plan)
    return library_convolution(step, p, library, weight, device);
  if (plan.rows)
    return patch_product(step, p, plan, precision_of_conv<weight>(attrs), weight, device);
  return std::make_unique<const ConvKernel>(step, weight, device);
}

constexpr KernelEntry kConvKernels[] = {{"conv", find_conv<false>, prepare_conv<false>},
                                        {"conv_weight", find_conv<true>, prepare_conv<true>}};

}  // namespace

const std::span<const KernelEntry> conv_kernels = kConvKernels;

}  // namespace mlx::core::gpu
