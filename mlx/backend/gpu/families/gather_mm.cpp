// Products of matrices that indices say, and products over ranges of the inner axis.
#include "mlx/ops/gather_mm.h"

#include "mlx/backend/gpu/families/grouped.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::GatherProductArguments;

bool set_indices(std::span<const Layout> operands, Indices& to) {
  const Layout &a = operands[0], &b = operands[1];
  return to.set("gather_mm", operands, operands[2].shape,
                {{2, 0, a.shape[0], 1, a.strides[0]}, {3, 0, b.shape[0], 1, b.strides[0]}});
}

/// The tiles of a product for the library, which reads matrices of b that lie row by row or column
/// by column, at multiples of 16 bytes; none where it does not serve.
std::optional<GroupedProducts> plan_grouped(std::span<const Layout> operands,
                                            const DeviceState& device, bool& transposed) {
  const Layout &a = operands[0], &b = operands[1];
  transposed = b.strides[1] == 1 && b.shape[1] > 1;
  const int64_t n = b.shape[2], k = b.shape[1], size = a.dtype.size(),
                row = b.strides[transposed ? 2 : 1], line = transposed ? k : n;
  if (b.strides[transposed ? 1 : 2] != 1 || row < line || row * size % 16 ||
      b.strides[0] * size % 16)
    return {};
  const GroupedProblem q{.dtype = a.dtype,
                         .positions = num_elements(operands[2].shape),
                         .matrices = b.shape[0],
                         .m = a.shape[1],
                         .n = n,
                         .k = k,
                         .x_matrix = a.strides[0],
                         .x_row = a.strides[1],
                         .x_column = a.strides[2],
                         .transposed = transposed};
  if (!q.served(device)) return {};
  return GroupedProducts(q, device);
}

template <bool segments>
class GatherProduct final : public StepKernel<GatherProductArguments> {
 public:
  GatherProduct(const Step& step, DeviceState& device) : StepKernel(step) {
    const Layout &a = step.operands[0], &b = step.operands[1], &out = step.operands[step.n_inputs];
    device::MatmulArguments& q = p.product;
    const size_t row = a.shape.size() - 2;
    q.m = a.shape[row];
    q.k = a.shape[row + 1];
    q.n = b.shape[row + 1];
    q.batch_count = num_elements(Shape(out.shape.begin(), out.shape.end() - 2));
    q.a_row = a.strides[row];
    q.a_column = a.strides[row + 1];
    q.b_row = b.strides[row];
    q.b_column = b.strides[row + 1];
    bind(q.a, 0);
    bind(q.b, 1);
    bind(q.out, step.n_inputs);
    bind_record(p.record);
    if (segments) {
      p.type = index_type(step.operands[2].dtype);
      bind(p.segments, 2);
    } else {
      set_indices(found_operands(step), indices_);
    }
    const auto& make = segments ? kernels::segment_product : kernels::gather_product;
    kernel = make(device, out.dtype, value_of(out.dtype));
    if constexpr (!segments) {
      if (step.workspace >= 0) grouped_ = plan_grouped(found_operands(step), device, transposed_);
      if (grouped_) grouped_->prepare(device);
      workspace_ = step.workspace;
      b_matrix_ = b.strides[0];
    }
    if (num_elements(out.shape) > 0)
      blocks = std::min<int64_t>(q.batch_count * ((q.m + 63) / 64) * ((q.n + 63) / 64), 1 << 30);
  }
  void raise(const device::ErrorRecord& record) const override {
    if (!segments) indices_.raise(record);
    raise_index("segmented_mm", record, p.type, 0, p.product.k + 1, 1);
  }

 private:
  void run(const Enqueue& to, GatherProductArguments& bound,
           std::span<const uint64_t> operands) const override {
    if (!segments) bound.at = indices_.at(to, operands);
    const device::MatmulArguments& q = bound.product;
    if (!grouped_ || q.b % 16) return kernel.launch(to, blocks, bound);
    const auto tiles = grouped_->begin(
        to, {.x = q.a, .out = q.out, .workspace = static_cast<int64_t>(operands[workspace_])},
        bound.at);
    grouped_->multiply(to, tiles, q.b, transposed_ ? q.b_column : q.b_row, b_matrix_, 0, q.n);
  }
  Indices indices_;
  std::optional<GroupedProducts> grouped_;
  bool transposed_ = false;
  int workspace_ = -1;
  int64_t b_matrix_ = 0;
};

template <bool segments>
bool find_gather_mm(const Attrs*, std::span<const Layout> operands, int n_inputs,
                    const DeviceState& device, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  if (operands[0].dtype != out.dtype || operands[1].dtype != out.dtype || !is_rows(out))
    return false;
  if constexpr (segments) {
    needs.inputs = {Accepts::any, Accepts::any, Accepts::rows};
    return true;
  } else {
    Indices indices;
    bool transposed = false;
    if (const auto grouped = plan_grouped(operands, device, transposed))
      needs.workspace = grouped->workspace();
    return set_indices(operands, indices);
  }
}

constexpr KernelEntry kGatherProductKernels[] = {
    {"gather_mm", find_gather_mm<false>, prepare_as<GatherProduct<false>>},
    {"segmented_mm", find_gather_mm<true>, prepare_as<GatherProduct<true>>}};

}  // namespace

const std::span<const KernelEntry> gather_product_kernels = kGatherProductKernels;

}  // namespace mlx::core::gpu
