// Cholesky factors, inverses and solutions of small systems. Larger ones run through the CPU.
#include "mlx/ops/linalg.h"

#include <algorithm>

#include "mlx/backend/common/linalg_error.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::SystemArguments;

/// Orders up to which a block is faster than the CPU with its copies: for any number of matrices,
/// and for as many as keep a device busy.
constexpr int64_t kSmall = 64, kMostOfMany = 128, kMany = 8;

enum class Problem { cholesky, inverse, solution };

/// A system of each matrix of a batch.
struct Systems {
  int64_t count, n, columns;
  explicit Systems(std::span<const Layout> operands, int n_inputs) {
    const Shape &a = operands[0].shape, &out = operands[n_inputs].shape;
    n = a.back();
    columns = out.back();
    count = num_elements(Shape(a.begin(), a.end() - 2));
  }
  bool are_small() const { return n <= kSmall || (n <= kMostOfMany && count >= kMany); }
  /// Blocks, each with a matrix at a time.
  int64_t blocks(const DeviceState& device) const {
    return std::min<int64_t>(count, 8 * device.hardware->processors);
  }
};

template <Problem problem>
class SystemKernel final : public StepKernel<SystemArguments> {
 public:
  SystemKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const Systems s(found_operands(step), step.n_inputs);
    const Dtype type = step.operands[0].dtype;
    p.count = s.count;
    p.n = s.n;
    p.columns = s.columns;
    bind(p.a, 0);
    bind(p.out, step.n_inputs);
    bind_record(p.record);
    blocks = s.blocks(device);
    if constexpr (problem == Problem::cholesky) {
      p.upper = attrs_as<TriangleAttrs>(step.attrs.get()).upper;
      kernel = kernels::factor_cholesky(device, type);
    } else {
      bind(p.work, step.workspace);
      if (problem == Problem::solution) bind(p.b, 1);
      kernel = kernels::solve_systems(device, type, problem == Problem::inverse);
    }
  }
  void raise(const device::ErrorRecord& record) const override {
    const int64_t matrix = record.value / (p.n + 1), row = record.value % (p.n + 1);
    if (problem == Problem::cholesky) fail_indefinite(matrix, row + 1);
    fail_singular(problem == Problem::inverse ? "linalg.inv" : "linalg.solve", matrix, row);
  }
};

template <Problem problem>
bool find(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState& device,
          Requirements& needs) {
  const Systems s(operands, n_inputs);
  const Dtype type = operands[0].dtype;
  const bool known = type == float32 || type == float64 || type == complex64 || type == complex128;
  if (!known || !s.are_small() || s.count * s.n * s.columns == 0 ||
      s.n * s.columns > INT32_MAX / 2 || !all_in_rows(operands, n_inputs, needs))
    return false;
  if (problem != Problem::cholesky)
    needs.workspace = static_cast<size_t>(s.blocks(device) * s.n * s.n * type.size());
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"cholesky", find<Problem::cholesky>, prepare_as<SystemKernel<Problem::cholesky>>},
    {"inv", find<Problem::inverse>, prepare_as<SystemKernel<Problem::inverse>>},
    {"solve", find<Problem::solution>, prepare_as<SystemKernel<Problem::solution>>}};

}  // namespace

const std::span<const KernelEntry> linalg_kernels = kEntries;

}  // namespace mlx::core::gpu
