// Products of matrices that indices say, and products over ranges of the inner axis.
#include "mlx/ops/gather_mm.h"

#include <algorithm>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

using device::GatherProductArguments;

class GatherProduct final : public OpKernel {
 public:
  GatherProduct(const Step& step, bool segments, DeviceState& device)
      : segments_(segments), out_(step.n_inputs) {
    const std::span<const Layout> operands(step.operands.data(), step.operands.size());
    const Layout &a = operands[0], &b = operands[1], &out = operands[out_];
    for (const Layout& l : operands) offsets_.push_back(l.offset * l.dtype.size());
    device::MatmulArguments& p = arguments_.product;
    const size_t row = a.shape.size() - 2;
    p.m = a.shape[row];
    p.k = a.shape[row + 1];
    p.n = b.shape[row + 1];
    p.batch_count = num_elements(Shape(out.shape.begin(), out.shape.end() - 2));
    p.a_row = a.strides[row];
    p.a_column = a.strides[row + 1];
    p.b_row = b.strides[row];
    p.b_column = b.strides[row + 1];
    if (segments)
      arguments_.type = index_type(operands[2].dtype);
    else
      set_indices(operands, indices_);
    const bool narrow = out.dtype == float16 || out.dtype == bfloat16;
    const std::string type = element_type(out.dtype);
    kernel_.function =
        device.kernel("packed",
                      cat("MLX_IN_STEP_KERNEL(gather_kernel, GatherProductArguments, p) "
                          "{ ",
                          segments ? "segment_product<" : "gather_product<", type, ", ",
                          narrow ? "float" : type, ">(p); }\n"),
                      "gather_kernel");
    if (num_elements(out.shape) > 0)
      blocks_ = std::min<int64_t>(p.batch_count * ((p.m + 63) / 64) * ((p.n + 63) / 64), 1 << 30);
  }
  static bool set_indices(std::span<const Layout> operands, Indices& to) {
    const Layout &a = operands[0], &b = operands[1];
    return to.set("gather_mm", operands, operands[2].shape,
                  {{2, 0, a.shape[0], 1, a.strides[0]}, {3, 0, b.shape[0], 1, b.strides[0]}});
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (blocks_ == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<GatherProductArguments> block{.p = arguments_};
    block.p.product.a = address(0);
    block.p.product.b = address(1);
    block.p.product.out = address(out_);
    if (segments_) {
      block.p.segments = address(2);
      block.p.record = static_cast<int64_t>(to.record);
    } else {
      block.p.at = indices_.at(to, operands);
    }
    kernel_.launch(to, blocks_, block.all());
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override {
    if (!segments_) indices_.raise(record);
    raise_index("segmented_mm", record, arguments_.type, 0, arguments_.product.k + 1, 1);
  }

 private:
  GatherProductArguments arguments_ = {};
  Indices indices_;
  Kernel kernel_;
  SmallVector<int64_t, 8> offsets_;
  const bool segments_;
  const int out_;
  int64_t blocks_ = 0;
};

template <bool segments>
bool find(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
          Requirements& needs) {
  const Layout& out = operands[n_inputs];
  if (operands[0].dtype != out.dtype || operands[1].dtype != out.dtype ||
      !is_row_contiguous(out.shape, out.strides))
    return false;
  if constexpr (segments) {
    needs.inputs = {Accepts::any, Accepts::any, Accepts::rows};
    return true;
  } else {
    Indices indices;
    return GatherProduct::set_indices(operands, indices);
  }
}
template <bool segments>
std::unique_ptr<const OpKernel> prepare(const Step& step, DeviceState& device) {
  return std::make_unique<const GatherProduct>(step, segments, device);
}

constexpr KernelEntry kEntries[] = {{"gather_mm", find<false>, prepare<false>},
                                    {"segmented_mm", find<true>, prepare<true>}};

}  // namespace

const std::span<const KernelEntry> gather_product_kernels = kEntries;

}  // namespace mlx::core::gpu
