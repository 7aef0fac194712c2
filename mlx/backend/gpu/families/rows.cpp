// Softmax, logsumexp and norms.
#include <algorithm>
#include <bit>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/ops/norm.h"
#include "mlx/ops/softmax.h"

namespace mlx::core::gpu {

namespace {

using device::RowsArguments;

/// A kernel over rows: `first` operand is read, `results` is written.
class RowsKernel final : public OpKernel {
 public:
  RowsKernel(const Step& step, const std::string& function, const std::string& rest,
             const RowsArguments& arguments, DeviceState& device)
      : arguments_(arguments), n_inputs_(step.n_inputs) {
    const Layout& in = step.operands[0];
    const bool warp = arguments.n <= 1024;
    const int64_t group = warp ? 32 : 256;
    // Elements of a row that a thread keeps: a power of 2, so that there are few kernels.
    const uint64_t each = std::bit_ceil(static_cast<uint64_t>((arguments.n + group - 1) / group));
    const uint64_t kept = each <= 32 ? each : 0;
    kernel_.function = device.kernel(
        "rows",
        cat("MLX_IN_STEP_KERNEL(rows, device::RowsArguments, p) {\n  using namespace device;\n  "
            "device::",
            function, "<", group, ", ", kept, ", ", element_type(in.dtype), rest, ">(p);\n}\n"),
        "rows");
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    blocks_ = std::min<int64_t>(warp ? (arguments.rows + 7) / 8 : arguments.rows, 1 << 20);
  }
  /// Which input is the weight, and which the bias; 0: none.
  void set_parameters(int weight, int bias) {
    weight_ = weight;
    bias_ = bias;
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (blocks_ == 0) return;
    ArgumentBlock<RowsArguments> block{.p = arguments_};
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    block.p.in = address(0);
    if (weight_) block.p.weight = address(weight_);
    if (bias_) block.p.bias = address(bias_);
    block.p.out = address(n_inputs_);
    kernel_.launch(to, blocks_, block.all());
  }

 private:
  RowsArguments arguments_;
  Kernel kernel_;
  SmallVector<int64_t, 8> offsets_;
  int n_inputs_, weight_ = 0, bias_ = 0;
  int64_t blocks_ = 0;
};

bool is_float(Dtype t) { return is_inexact(t) && !is_complex(t); }

bool find_rows(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
               Requirements& needs) {
  for (const Layout& l : operands)
    if (l.dtype != operands[0].dtype || !is_float(l.dtype)) return false;
  const Layout& out = operands[n_inputs];
  for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  return is_row_contiguous(out.shape, out.strides);
}
bool find_norm(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState& device, Requirements& needs) {
  needs.in_place = 1;
  return find_rows(attrs, operands, n_inputs, device, needs);
}

RowsArguments rows_of(const Layout& in, int axis) {
  RowsArguments p = {};
  p.n = in.shape[axis];
  p.stride = num_elements(Shape(in.shape.begin() + axis + 1, in.shape.end()));
  p.rows = p.n ? num_elements(in.shape) / p.n : 0;
  return p;
}

std::unique_ptr<const OpKernel> prepare_softmax(const Step& step, DeviceState& device) {
  const int axis = attrs_as<SoftmaxAttrs>(step.attrs.get()).axis;
  return std::make_unique<const RowsKernel>(step, "softmax", "", rows_of(step.operands[0], axis),
                                            device);
}
std::unique_ptr<const OpKernel> prepare_logsumexp(const Step& step, DeviceState& device) {
  const Layout& in = step.operands[0];
  return std::make_unique<const RowsKernel>(
      step, "logsumexp", "", rows_of(in, static_cast<int>(in.shape.size()) - 1), device);
}
std::unique_ptr<const OpKernel> prepare_norm(const Step& step, DeviceState& device) {
  const NormAttrs& a = attrs_as<NormAttrs>(step.attrs.get());
  const Layout& in = step.operands[0];
  RowsArguments p = rows_of(in, static_cast<int>(in.shape.size()) - 1);
  p.eps = a.eps;
  auto kernel =
      std::make_unique<RowsKernel>(step, "norm", a.center ? ", true" : ", false", p, device);
  kernel->set_parameters(a.has_weight ? 1 : 0, a.has_bias ? 1 + a.has_weight : 0);
  return kernel;
}

constexpr KernelEntry kEntries[] = {{"softmax", find_rows, prepare_softmax},
                                    {"logsumexp", find_rows, prepare_logsumexp},
                                    {"norm", find_norm, prepare_norm}};

}  // namespace

const std::span<const KernelEntry> rows_kernels = kEntries;

}  // namespace mlx::core::gpu
