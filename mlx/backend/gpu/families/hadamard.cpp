// Hadamard transforms.
#include "mlx/ops/hadamard.h"

#include <algorithm>

#include "mlx/backend/common/hadamard_signs.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::HadamardArguments;

constexpr int64_t kHadamardSlots = 4096;  // elements of a block

HadamardArguments plan_hadamard(const Attrs* attrs, const Layout& in) {
  const auto& a = attrs_as<HadamardAttrs>(attrs);
  HadamardArguments p = {};
  const auto [m, power] = hadamard_order(in.shape.empty() ? 1 : in.shape.back());
  p.count = num_elements(in.shape);
  p.m = m;
  p.power = power;
  p.tile = std::min(power, kHadamardSlots);
  std::ranges::copy(hadamard_signs(m, a.transposed), p.signs);
  p.scale = a.scale;
  return p;
}
/// Whether blocks have whole rows.
bool whole(const HadamardArguments& p) { return p.m == 1 && p.power == p.tile; }

class HadamardKernel final : public StepKernel<HadamardArguments> {
 public:
  HadamardKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const Dtype type = step.operands[0].dtype;
    p = plan_hadamard(step.attrs.get(), step.operands[0]);
    bind(p.in, 0);
    bind(p.out, 1);
    kernel = kernels::hadamard_tiles(device, type, whole(p));
    blocks = blocks_of(p.count, kHadamardSlots);
    if (whole(p)) return;
    bind(p.work, step.workspace);
    if (p.tile < p.power) stage_ = kernels::hadamard_stage(device, type);
    results_ = kernels::hadamard_results(device, type);
  }

 private:
  void run(const Enqueue& to, HadamardArguments& bound, std::span<const uint64_t>) const override {
    kernel.launch(to, blocks, bound);
    for (bound.half = p.tile; bound.half < p.power; bound.half *= 2)
      stage_.launch(to, blocks_for(p.count / 2), bound);
    if (results_) results_.launch(to, blocks_for(p.count), bound);
  }
  KernelOn<HadamardArguments> stage_, results_;
};

bool find_hadamard(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                   const DeviceState&, Requirements& needs) {
  const HadamardArguments p = plan_hadamard(attrs, operands[0]);
  needs.in_place = 1;
  if (!whole(p))
    needs.workspace = static_cast<size_t>(p.count) * (operands[n_inputs].dtype == float64 ? 8 : 4);
  return all_in_rows(operands, n_inputs, needs);
}

constexpr KernelEntry kHadamardKernels[] = {
    {"hadamard_transform", find_hadamard, prepare_as<HadamardKernel>}};

}  // namespace

const std::span<const KernelEntry> hadamard_kernels = kHadamardKernels;

}  // namespace mlx::core::gpu
