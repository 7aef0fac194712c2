// The gated delta rule.
#include "mlx/ops/delta.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"

namespace mlx::core::gpu {

namespace {

using device::DeltaArguments;

constexpr int64_t kWidest = 256;  // elements of a row of the state that a warp keeps

class DeltaKernel final : public OpKernel {
 public:
  DeltaKernel(const Step& step, DeviceState& device) : n_inputs_(step.n_inputs) {
    const Layout &q = step.operands[0], &v = step.operands[2];
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    arguments_.batches = q.shape[0];
    arguments_.length = q.shape[1];
    arguments_.key_heads = q.shape[2];
    arguments_.width = q.shape[3];
    arguments_.heads = v.shape[2];
    arguments_.values = v.shape[3];
    arguments_.wide = step.operands[3].shape.size() == 4;
    const int64_t warps = arguments_.batches * arguments_.heads * arguments_.values;
    blocks_ = std::min<int64_t>((warps + 7) / 8, 1 << 20);
    const auto each = std::bit_ceil(static_cast<uint64_t>((arguments_.width + 31) / 32));
    kernel_.function =
        device.kernel("delta",
                      cat("MLX_IN_STEP_KERNEL(delta_kernel, DeltaArguments, p) { gated_delta<",
                          element_type(q.dtype), ", ", std::max<uint64_t>(each, 1), ">(p); }\n"),
                      "delta_kernel");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (blocks_ == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<DeltaArguments> block{.p = arguments_};
    DeltaArguments& p = block.p;
    p.q = address(0);
    p.k = address(1);
    p.v = address(2);
    p.gates = address(3);
    p.beta = address(4);
    p.state = address(5);
    if (n_inputs_ > 6) p.mask = address(6);
    p.out = address(n_inputs_);
    p.end = address(n_inputs_ + 1);
    kernel_.launch(to, blocks_, block.all());
  }

 private:
  DeltaArguments arguments_ = {};
  Kernel kernel_;
  SmallVector<int64_t, 12> offsets_;
  int n_inputs_;
  int64_t blocks_;
};

bool find_delta(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                Requirements& needs) {
  for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  for (const Layout& out : operands.subspan(n_inputs))
    if (!is_row_contiguous(out.shape, out.strides)) return false;
  return operands[0].shape[3] <= kWidest;
}
std::unique_ptr<const OpKernel> prepare_delta(const Step& step, DeviceState& device) {
  return std::make_unique<const DeltaKernel>(step, device);
}

constexpr KernelEntry kEntries[] = {{"gated_delta_update", find_delta, prepare_delta}};

}  // namespace

const std::span<const KernelEntry> delta_kernels = kEntries;

}  // namespace mlx::core::gpu
