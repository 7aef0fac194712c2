// Softmax, logsumexp and norms.
#include <algorithm>
#include <bit>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/norm.h"
#include "mlx/ops/softmax.h"

namespace mlx::core::gpu {

namespace {

using device::RowsArguments;

using Kernels = KernelMaker<RowsArguments>;

constexpr int64_t kRowThreads = 256;

/// Threads for a row: as few as read all of a short row by one access each.
int64_t group_of(int64_t n, int64_t size) {
  constexpr int64_t kAccess = 16, kFewest = 4, kLanes = 32, kLongest = 1024;
  if (n > kLongest) return kRowThreads;
  const auto accesses =
      static_cast<uint64_t>(std::max<int64_t>(n * size, 1) + kAccess - 1) / kAccess;
  return std::clamp(static_cast<int64_t>(std::bit_ceil(accesses)), kFewest, kLanes);
}

/// A step on lines along an axis of the first operand; `rest`: template arguments behind the type.
template <class... A>
std::unique_ptr<StepKernel<RowsArguments>> on_rows(const Step& step, DeviceState& device, int axis,
                                                   const Kernels& kernels, const A&... rest) {
  const Layout& in = step.operands[0];
  auto rows = std::make_unique<StepKernel<RowsArguments>>(step);
  RowsArguments& p = rows->p;
  const Lines l = lines_along(in.shape, axis);
  p.rows = l.lines;
  p.n = l.n;
  p.stride = l.stride;
  rows->bind(p.in, 0);
  rows->bind(p.out, step.n_inputs);
  const int64_t group = group_of(p.n, in.dtype.size());
  // Elements of a row that a thread keeps: a power of 2, so that there are few kernels.
  const uint64_t each = std::bit_ceil(static_cast<uint64_t>((p.n + group - 1) / group));
  rows->kernel = kernels(device, group, each <= 32 ? each : 0, in.dtype, rest...);
  rows->blocks = blocks_of(p.rows, kRowThreads / group);
  return rows;
}

// Rows that several blocks have, each of them a part. Shorter rows stay in the second cache between
// the two reads of one block.
using device::kRowPart;
constexpr int64_t kUndividedBytes = 128 << 10;

bool is_divided(const Lines& l, Dtype t) { return l.n * t.size() > kUndividedBytes; }

/// Softmax or logsumexp of long rows: sums of parts, and results from these.
class PartsKernel final : public StepKernel<RowsArguments> {
 public:
  PartsKernel(const Step& step, DeviceState& device, const Lines& l, bool is_softmax)
      : StepKernel(step) {
    const Dtype type = step.operands[0].dtype;
    const bool dense = l.stride == 1;
    p.rows = l.lines;
    p.n = l.n;
    p.stride = l.stride;
    p.parts = ceil_div(l.n, kRowPart);
    bind(p.in, 0);
    bind(p.out, step.n_inputs);
    bind(p.partials, step.workspace);
    sums_ = kernels::sum_parts(device, type, dense);
    kernel = is_softmax ? kernels::softmax_of_parts(device, type, dense)
                        : kernels::logsumexp_of_parts(device, type);
    blocks = blocks_of(is_softmax ? p.rows * p.parts : p.rows);
  }

 private:
  void run(const Enqueue& to, RowsArguments& bound, std::span<const uint64_t>) const override {
    sums_.launch(to, blocks_of(p.rows * p.parts), bound);
    kernel.launch(to, blocks, bound);
  }
  KernelOn<RowsArguments> sums_;
};

bool find_rows(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
               Requirements& needs) {
  for (const Layout& l : operands)
    if (l.dtype != operands[0].dtype || !is_inexact(l.dtype) || is_complex(l.dtype)) return false;
  return all_in_rows(operands, n_inputs, needs);
}
bool find_sums(int axis, std::span<const Layout> operands, int n_inputs, const DeviceState& device,
               Requirements& needs) {
  const Lines l = lines_along(operands[0].shape, axis);
  constexpr int64_t kPartialBytes = 16;  // two numbers, at most float64
  if (is_divided(l, operands[0].dtype))
    needs.workspace = static_cast<size_t>(l.lines * ceil_div(l.n, kRowPart) * kPartialBytes);
  return find_rows(nullptr, operands, n_inputs, device, needs);
}
bool find_softmax(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                  const DeviceState& device, Requirements& needs) {
  return find_sums(attrs_as<SoftmaxAttrs>(attrs).axis, operands, n_inputs, device, needs);
}
bool find_logsumexp(const Attrs*, std::span<const Layout> operands, int n_inputs,
                    const DeviceState& device, Requirements& needs) {
  const int last = static_cast<int>(operands[0].shape.size()) - 1;
  return find_sums(last, operands, n_inputs, device, needs);
}
bool find_norm(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState& device, Requirements& needs) {
  needs.in_place = 1;
  return find_rows(attrs, operands, n_inputs, device, needs);
}

int last_axis(const Step& step) { return static_cast<int>(step.operands[0].shape.size()) - 1; }

std::unique_ptr<const OpKernel> prepare_softmax(const Step& step, DeviceState& device) {
  const int axis = attrs_as<SoftmaxAttrs>(step.attrs.get()).axis;
  const Lines l = lines_along(step.operands[0].shape, axis);
  if (is_divided(l, step.operands[0].dtype))
    return std::make_unique<const PartsKernel>(step, device, l, true);
  const bool dense = l.stride == 1;
  return on_rows(step, device, axis, kernels::softmax, dense);
}
std::unique_ptr<const OpKernel> prepare_logsumexp(const Step& step, DeviceState& device) {
  const Lines l = lines_along(step.operands[0].shape, last_axis(step));
  if (is_divided(l, step.operands[0].dtype))
    return std::make_unique<const PartsKernel>(step, device, l, false);
  return on_rows(step, device, last_axis(step), kernels::logsumexp);
}
std::unique_ptr<const OpKernel> prepare_norm(const Step& step, DeviceState& device) {
  const auto& a = attrs_as<NormAttrs>(step.attrs.get());
  auto norm = on_rows(step, device, last_axis(step), kernels::norm, a.center);
  norm->p.eps = a.eps;
  norm->bind(norm->p.weight, a.has_weight ? 1 : -1);
  norm->bind(norm->p.bias, a.has_bias ? 1 + a.has_weight : -1);
  return norm;
}

constexpr KernelEntry kRowsKernels[] = {{"softmax", find_softmax, prepare_softmax},
                                        {"logsumexp", find_logsumexp, prepare_logsumexp},
                                        {"norm", find_norm, prepare_norm}};

}  // namespace

const std::span<const KernelEntry> rows_kernels = kRowsKernels;

}  // namespace mlx::core::gpu
