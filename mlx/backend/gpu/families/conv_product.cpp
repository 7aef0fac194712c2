// Convolutions as products by a library: patches of the input are gathered, as many at a time as
// the cache holds.
#include <algorithm>
#include <cstdlib>

#include "mlx/backend/gpu/families/conv.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

using device::ConvArguments;

constexpr int64_t kLeast = 16;  // features, and elements of a patch: narrow products fill no tile

/// Whether patches of one pixel are the input itself.
bool is_pointwise(const ConvArguments& p) {
  for (int d = 0; d < 3; ++d)
    if (p.kernel[d] != 1 || p.stride[d] != 1 || p.low[d] != 0 || p.input_spread[d] != 1 ||
        p.length[d] != p.in[d])
      return false;
  return true;
}

class PatchProduct final : public OpKernel {
 public:
  PatchProduct(const Step& step, const ConvArguments& p, const PatchPlan& plan, bool weight,
               DeviceState& device)
      : arguments_(p), plan_(plan), weight_(weight), workspace_(step.workspace) {
    const Dtype type = step.operands[2].dtype;
    for (int k = 0; k < 3; ++k) {
      sizes_[k] = step.operands[k].dtype.size();
      offsets_[k] = step.operands[k].offset * sizes_[k];
    }
    arguments_.splits = 1;
    const int64_t n = patch(p);
    gemm_.type = type;
    gemm_.wide_out = plan.sums;
    gemm_.count = 1;
    gemm_.alpha = 1;
    if (weight) {
      gemm_.a = {0, p.features, 0, true};
      gemm_.b = gemm_.out = {0, n, 0, false};
      gemm_.m = p.features;
      gemm_.n = n;
    } else {
      gemm_.a = {0, n, 0, false};
      gemm_.b = {0, n, 0, true};
      gemm_.out = {0, p.features, 0, false};
      gemm_.n = p.features;
      gemm_.k = n;
    }
    if (!plan.in_place) prepare_gather(type, offsets_[0], device);
    if (plan.sums)
      add_.function = device.kernel("conv",
                                    cat("MLX_KERNEL(conv_kernel, ConvArguments, p) { add_parts<",
                                        element_type(type), ", float>(p); }\n"),
                                    "conv_kernel");
  }

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    const int64_t work = plan_.bytes ? static_cast<int64_t>(operands[workspace_]) : 0;
    ArgumentBlock<ConvArguments> block{.p = arguments_};
    ConvArguments& p = block.p;
    p.x = address(0);
    p.out = work;
    const int64_t all = positions(p), sums = work + static_cast<int64_t>(plan_.sums_at);
    for (p.first = 0; p.first < all; p.first += plan_.rows) {
      p.count = std::min(plan_.rows, all - p.first);
      if (gather_.function) gather_.launch(to, blocks_for(p.count * patch(p) / run_), block.all());
      multiply(to, plan_.in_place ? p.x + patch_bytes(p.first) : work, address(1),
               plan_.sums ? sums : address(2), p);
    }
    if (!plan_.sums) return;
    p.parts = sums;
    p.out = address(2);
    add_.launch(to, blocks_for(p.features * patch(p)), block.all());
  }

 private:
  /// `in`: bytes to the input's first element.
  void prepare_gather(Dtype type, int64_t in, DeviceState& device) {
    run_ = 16 / type.size();
    while (run_ > 1 && (arguments_.channels % run_ || in % (run_ * type.size()))) run_ /= 2;
    const bool narrow = counts_in_32_bits(arguments_, plan_.rows * patch(arguments_));
    gather_.function = device.kernel(
        "conv",
        cat("MLX_KERNEL(conv_kernel, ConvArguments, p) { gather_patches<", element_type(type),
            narrow ? ", int32_t, " : ", int64_t, ", run_, ">(p); }\n"),
        "conv_kernel");
  }
  int64_t patch_bytes(int64_t rows) const { return rows * patch(arguments_) * sizes_[0]; }
  /// Multiplies the patches of some positions by the weight, or by the cotangents there.
  void multiply(const Enqueue& to, int64_t patches, int64_t other, int64_t out,
                const ConvArguments& p) const {
    Gemm g = gemm_;
    const auto rows = static_cast<uint64_t>(p.first * p.features * sizes_[1]);
    g.out.address = static_cast<uint64_t>(out);
    if (weight_) {
      g.a.address = static_cast<uint64_t>(other) + rows;
      g.b.address = static_cast<uint64_t>(patches);
      g.k = p.count;
      g.beta = p.first ? 1 : 0;
    } else {
      g.a.address = static_cast<uint64_t>(patches);
      g.b.address = static_cast<uint64_t>(other);
      g.out.address += rows;
      g.m = p.count;
    }
    to.device().hardware->products()->run(to.queue, g);
  }

  ConvArguments arguments_;
  const PatchPlan plan_;
  Kernel gather_, add_;
  Gemm gemm_ = {};
  const bool weight_;
  const int workspace_;
  int64_t offsets_[3], sizes_[3], run_ = 1;
};

}  // namespace

bool counts_in_32_bits(const ConvArguments& p, int64_t count) {
  int64_t reach = std::max({positions(p), patch(p), count, p.in[0] * p.in[1] * p.in[2]}) + 1;
  for (int d = 0; d < 3; ++d)
    reach =
        std::max(reach, p.length[d] * p.stride[d] + p.kernel[d] * p.spread[d] + std::abs(p.low[d]));
  return reach < INT32_MAX / 2;
}

PatchPlan plan_patches(const ConvArguments& p, Dtype type, bool weight, const DeviceState& device) {
  const int64_t all = positions(p), n = patch(p);
  if (p.groups != 1 || all == 0 || n < kLeast || p.features < kLeast ||
      !has_products(*device.hardware, type))
    return {};
  PatchPlan plan{.rows = all, .in_place = is_pointwise(p)};
  if (!plan.in_place) {
    plan.rows = std::clamp<int64_t>(device.hardware->cache / (n * type.size()), 1, all);
    plan.bytes = static_cast<size_t>(plan.rows * n * type.size());
    plan.sums = weight && plan.rows < all && type.size() == 2;
    plan.sums_at = (plan.bytes + 255) / 256 * 256;
    if (plan.sums) plan.bytes = plan.sums_at + static_cast<size_t>(p.features * n) * sizeof(float);
  }
  return plan;
}

std::unique_ptr<const OpKernel> patch_product(const Step& step, const ConvArguments& p,
                                              const PatchPlan& plan, bool weight,
                                              DeviceState& device) {
  return std::make_unique<const PatchProduct>(step, p, plan, weight, device);
}

}  // namespace mlx::core::gpu
