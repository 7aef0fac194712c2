// Hadamard transforms.
#include "mlx/ops/hadamard.h"

#include <algorithm>

#include "mlx/backend/common/hadamard_signs.h"
#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

using device::HadamardArguments;

constexpr int64_t kSlots = 4096;  // elements of a block

HadamardArguments plan(const Attrs* attrs, const Layout& in) {
  const auto& a = attrs_as<HadamardAttrs>(attrs);
  HadamardArguments p = {};
  const auto [m, power] = hadamard_order(in.shape.empty() ? 1 : in.shape.back());
  p.count = num_elements(in.shape);
  p.m = m;
  p.power = power;
  p.tile = std::min(power, kSlots);
  std::ranges::copy(hadamard_signs(m, a.transposed), p.signs);
  p.scale = a.scale;
  return p;
}
/// Whether blocks have whole rows.
bool whole(const HadamardArguments& p) { return p.m == 1 && p.power == p.tile; }

class HadamardKernel final : public OpKernel {
 public:
  HadamardKernel(const Step& step, DeviceState& device)
      : arguments_(plan(step.attrs.get(), step.operands[0])), workspace_(step.workspace) {
    const Layout &in = step.operands[0], &out = step.operands[1];
    in_ = in.offset * in.dtype.size();
    out_ = out.offset * out.dtype.size();
    auto kernel = [&](const char* function, const char* rest, bool in_step = false) {
      return device.kernel("hadamard",
                           cat(in_step ? "MLX_IN_STEP_KERNEL" : "MLX_KERNEL",
                               "(hadamard_kernel, HadamardArguments, p) { ", function, "<",
                               element_type(in.dtype), rest, ">(p); }\n"),
                           "hadamard_kernel");
    };
    const bool ends = whole(arguments_);
    tiles_.function = kernel("hadamard_tiles", ends ? ", true" : ", false", true);
    if (ends) return;
    if (arguments_.tile < arguments_.power) stage_.function = kernel("hadamard_stage", "");
    results_.function = kernel("hadamard_results", "");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.count == 0) return;
    ArgumentBlock<HadamardArguments> block{.p = arguments_};
    HadamardArguments& p = block.p;
    p.in = static_cast<int64_t>(operands[0]) + in_;
    p.out = static_cast<int64_t>(operands[1]) + out_;
    if (results_.function) p.work = static_cast<int64_t>(operands[workspace_]);
    tiles_.launch(to, std::min<int64_t>((p.count + kSlots - 1) / kSlots, 1 << 20), block.all());
    for (p.half = p.tile; p.half < p.power; p.half *= 2)
      stage_.launch(to, blocks_for(p.count / 2), block.all());
    if (results_.function) results_.launch(to, blocks_for(p.count), block.all());
  }

 private:
  HadamardArguments arguments_;
  Kernel tiles_, stage_, results_;
  int workspace_;
  int64_t in_, out_;
};

bool find_hadamard(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                   const DeviceState&, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  const HadamardArguments p = plan(attrs, operands[0]);
  needs.inputs = {Accepts::rows};
  needs.in_place = 1;
  if (!whole(p)) needs.workspace = static_cast<size_t>(p.count) * (out.dtype == float64 ? 8 : 4);
  return is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_hadamard(const Step& step, DeviceState& device) {
  return std::make_unique<const HadamardKernel>(step, device);
}

constexpr KernelEntry kEntries[] = {{"hadamard_transform", find_hadamard, prepare_hadamard}};

}  // namespace

const std::span<const KernelEntry> hadamard_kernels = kEntries;

}  // namespace mlx::core::gpu
