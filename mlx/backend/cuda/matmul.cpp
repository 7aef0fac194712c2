// Products of matrices.
#include <algorithm>

#include "mlx/backend/cuda/fused.h"
#include "mlx/backend/cuda/kernel.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

using device::MatmulArguments;

/// False where the batch has more axes than the kernel takes.
bool plan(const Layout& a, const Layout& b, const Layout& out, MatmulArguments& p) {
  const size_t rank = out.shape.size(), batch = rank - 2;
  p.m = out.shape[rank - 2];
  p.n = out.shape[rank - 1];
  p.k = a.shape.back();
  auto matrix = [](const Layout& l, int64_t& row, int64_t& column) {
    row = l.strides[l.strides.size() - 2];
    column = l.strides.back();
  };
  matrix(a, p.a_row, p.a_column);
  matrix(b, p.b_row, p.b_column);
  const Shape shape(out.shape.begin(), out.shape.end() - 2);
  p.batch_count = num_elements(shape);
  // Operands may have fewer axes, and axes of length 1 that repeat.
  auto walk = [&](const Layout& l) {
    Strides strides(batch, 0);
    const size_t own = l.shape.size() - 2;
    for (size_t d = 0; d < own; ++d)
      strides[batch - own + d] = l.shape[d] == 1 ? 0 : l.strides[d];
    return strides;
  };
  device::Axes* const axes[] = {&p.a_batch, &p.b_batch};
  return set_axes(axes, shape, {walk(a), walk(b)});
}

class MatmulKernel final : public OpKernel {
 public:
  MatmulKernel(const Step& step, DeviceState& device) {
    const Layout &a = step.operands[0], &b = step.operands[1], &out = step.operands[2];
    plan(a, b, out, arguments_);
    const bool narrow = out.dtype == float16 || out.dtype == bfloat16;
    const std::string type = element_type(out.dtype);
    kernel_.function = device.kernels->find(
        cat("#include \"mlx/backend/cuda/device/matmul.cuh\"\n"
            "using namespace mlx::core;\nusing namespace mlx::core::device;\n"
            "MLX_IN_STEP_KERNEL(matmul, MatmulArguments, p) { matrix_product<",
            type, ", ", narrow ? "float" : type, ">(p); }\n"),
        "matmul");
    for (size_t k = 0; k < 3; ++k)
      offsets_[k] = step.operands[k].offset * step.operands[k].dtype.size();
    const MatmulArguments& p = arguments_;
    const int64_t tiles = p.batch_count * ((p.m + 63) / 64) * ((p.n + 63) / 64);
    blocks_ = std::min<int64_t>(tiles, int64_t{1} << 30);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (blocks_ == 0) return;
    ArgumentBlock<MatmulArguments> block{.p = arguments_};
    block.p.a = static_cast<int64_t>(operands[0]) + offsets_[0];
    block.p.b = static_cast<int64_t>(operands[1]) + offsets_[1];
    block.p.out = static_cast<int64_t>(operands[2]) + offsets_[2];
    kernel_.launch(to.stream(), blocks_, block.all());
  }

 private:
  MatmulArguments arguments_ = {};
  Kernel kernel_;
  int64_t offsets_[3], blocks_ = 0;
};

bool find(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
          Requirements&) {
  const Layout &a = operands[0], &b = operands[1], &out = operands[2];
  MatmulArguments p;
  return n_inputs == 2 && a.dtype == out.dtype && b.dtype == out.dtype && a.shape.size() >= 2 &&
         b.shape.size() >= 2 && is_row_contiguous(out.shape, out.strides) && plan(a, b, out, p);
}
std::unique_ptr<const OpKernel> prepare(const Step& step, DeviceState& device) {
  return std::make_unique<const MatmulKernel>(step, device);
}

constexpr KernelEntry kEntries[] = {{"matmul", find, prepare}};

}  // namespace

const std::span<const KernelEntry> matmul_kernels = kEntries;

}  // namespace mlx::core::cuda
