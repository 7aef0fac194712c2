// Convolutions as products by a library: patches of the input are gathered, as many at a time as
// the cache holds.
#include <algorithm>
#include <cstdlib>

#include "mlx/backend/gpu/families/conv.h"
#include "mlx/backend/gpu/families/step_kernel.h"
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

class PatchProduct final : public StepKernel<ConvArguments> {
 public:
  PatchProduct(const Step& step, const ConvArguments& geometry, const PatchPlan& plan,
               Precision precision, bool weight, DeviceState& device)
      : StepKernel(step), plan_(plan), weight_(weight) {
    const Dtype type = step.operands[2].dtype;
    p = geometry;
    p.splits = 1;
    bind(p.x, 0);
    bind(weight ? p.y : p.w, 1);
    bind(p.out, 2);
    bind(p.parts, plan.bytes ? step.workspace : -1);
    for (int k = 0; k < 2; ++k) sizes_[k] = step.operands[k].dtype.size();
    const int64_t n = patch(p);
    gemm_.type = type;
    gemm_.precision = precision;
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
    if (!plan.in_place) prepare_gather(type, step.operands[0].offset * type.size(), device);
    if (plan.sums) add_ = kernels::add_parts(device, type, "float");
  }

 private:
  void run(const Enqueue& to, ConvArguments& q, std::span<const uint64_t>) const override {
    const int64_t work = q.parts, out = q.out, other = weight_ ? q.y : q.w;
    const int64_t all = positions(p), sums = work + static_cast<int64_t>(plan_.sums_at);
    q.out = work;
    for (q.first = 0; q.first < all; q.first += plan_.rows) {
      q.count = std::min(plan_.rows, all - q.first);
      if (gather_) gather_.launch(to, blocks_for(q.count * patch(q) / run_), q);
      multiply(to, plan_.in_place ? q.x + patch_bytes(q.first) : work, other,
               plan_.sums ? sums : out, q);
    }
    if (!plan_.sums) return;
    q.parts = sums;
    q.out = out;
    add_.launch(to, blocks_for(q.features * patch(q)), q);
  }
  /// `in`: bytes to the input's first element.
  void prepare_gather(Dtype type, int64_t in, DeviceState& device) {
    run_ = 16 / type.size();
    while (run_ > 1 && (p.channels % run_ || in % (run_ * type.size()))) run_ /= 2;
    const bool narrow = counts_in_32_bits(p, plan_.rows * patch(p));
    gather_ = kernels::gather_patches(device, type, narrow ? "int32_t" : "int64_t", run_);
  }
  int64_t patch_bytes(int64_t rows) const { return rows * patch(p) * sizes_[0]; }
  /// Multiplies the patches of some positions by the weight, or by the cotangents there.
  void multiply(const Enqueue& to, int64_t patches, int64_t other, int64_t out,
                const ConvArguments& q) const {
    Gemm g = gemm_;
    const auto rows = static_cast<uint64_t>(q.first * q.features * sizes_[1]);
    g.out.address = static_cast<uint64_t>(out);
    if (weight_) {
      g.a.address = static_cast<uint64_t>(other) + rows;
      g.b.address = static_cast<uint64_t>(patches);
      g.k = q.count;
      g.beta = q.first ? 1 : 0;
    } else {
      g.a.address = static_cast<uint64_t>(patches);
      g.b.address = static_cast<uint64_t>(other);
      g.out.address += rows;
      g.m = q.count;
    }
    to.device().hardware->products()->run(to.queue, g);
  }

  const PatchPlan plan_;
  KernelOn<ConvArguments> gather_, add_;
  Gemm gemm_ = {};
  const bool weight_;
  int64_t sizes_[2], run_ = 1;
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
                                              const PatchPlan& plan, Precision precision,
                                              bool weight, DeviceState& device) {
  return std::make_unique<const PatchProduct>(step, p, plan, precision, weight, device);
}

}  // namespace mlx::core::gpu
