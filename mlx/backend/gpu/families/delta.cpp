// The gated delta rule.
#include "mlx/ops/delta.h"

#include <bit>

#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::DeltaArguments;

constexpr int64_t kWidest = 256;  // elements of a row of the state that a warp keeps

bool find_delta(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                Requirements& needs) {
  return all_in_rows(operands, n_inputs, needs) && operands[0].shape[3] <= kWidest;
}
std::unique_ptr<const OpKernel> prepare_delta(const Step& step, DeviceState& device) {
  const Layout &q = step.operands[0], &v = step.operands[2];
  auto delta = std::make_unique<StepKernel<DeltaArguments>>(step);
  DeltaArguments& p = delta->p;
  p.batches = q.shape[0];
  p.length = q.shape[1];
  p.key_heads = q.shape[2];
  p.width = q.shape[3];
  p.heads = v.shape[2];
  p.values = v.shape[3];
  p.wide = step.operands[3].shape.size() == 4;
  int64_t* const inputs[] = {&p.q, &p.k, &p.v, &p.gates, &p.beta, &p.state, &p.mask};
  for (int k = 0; k < step.n_inputs; ++k) delta->bind(*inputs[k], k);
  delta->bind(p.out, step.n_inputs);
  delta->bind(p.end, step.n_inputs + 1);
  const auto each = std::bit_ceil(static_cast<uint64_t>((p.width + 31) / 32));
  delta->kernel = kernels::gated_delta(device, q.dtype, std::max<uint64_t>(each, 1));
  delta->blocks = blocks_of(p.batches * p.heads * p.values, 8);
  return delta;
}

constexpr KernelEntry kDeltaKernels[] = {{"gated_delta_update", find_delta, prepare_delta}};

}  // namespace

const std::span<const KernelEntry> delta_kernels = kDeltaKernels;

}  // namespace mlx::core::gpu
