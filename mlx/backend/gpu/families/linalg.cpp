// Cholesky factors, inverses and solutions: of small systems by blocks, of some large ones by a
// library. Others run through the CPU.
#include "mlx/ops/linalg.h"

#include <algorithm>

#include "mlx/backend/common/linalg_error.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

using device::FactorArguments;
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
  /// Whether the library, which has one matrix at a time, is faster than the CPU.
  bool are_large() const { return n > kMostOfMany && count <= kMany; }
  /// Blocks, each with a matrix at a time.
  int64_t blocks(const DeviceState& device) const {
    return std::min<int64_t>(count, 8 * device.hardware->processors);
  }
};

/// Throws the error of a matrix that a record holds.
[[noreturn]] void raise_failure(Problem problem, const device::ErrorRecord& record, int64_t n) {
  const int64_t matrix = record.value / (n + 1), row = record.value % (n + 1);
  if (problem == Problem::cholesky) fail_indefinite(matrix, row + 1);
  fail_singular(problem == Problem::inverse ? "linalg.inv" : "linalg.solve", matrix, row);
}

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
    raise_failure(problem, record, p.n);
  }
};

/// Offsets in the workspace of the memory for the library; one matrix uses it at a time.
struct FactorPlan {
  int64_t work = 0, sides = 0, exponents = 0, pivots = 0, info = 0, device = 0, end = 0;
  FactorLibrary::Work library;
  FactorPlan(Problem problem, const Systems& s, Dtype type, FactorLibrary& factors) {
    auto take = [&](int64_t bytes) {
      const int64_t at = end;
      end += (bytes + 255) / 256 * 256;
      return at;
    };
    info = take(8);
    work = take(s.n * s.n * type.size());
    if (problem != Problem::cholesky) {
      if (problem == Problem::solution) sides = take(s.n * s.columns * type.size());
      exponents = take(2 * s.n * 4);
      pivots = take(s.n * 8);
    }
    const auto form =
        problem == Problem::cholesky ? FactorLibrary::Form::cholesky : FactorLibrary::Form::lu;
    library = factors.work(form, type, s.n);
    device = take(static_cast<int64_t>(library.device));
  }
};

/// Factors by the library, of one matrix after the other. Its matrices lie column by column, so it
/// sees the transposes of ours.
template <Problem problem>
class FactoredKernel final : public StepKernel<FactorArguments> {
 public:
  FactoredKernel(const Step& step, DeviceState& device)
      : StepKernel(step),
        systems_(found_operands(step), step.n_inputs),
        type_(step.operands[0].dtype),
        plan_(problem, systems_, type_, *device.hardware->factors()),
        workspace_(step.workspace) {
    p.n = systems_.n;
    p.columns = systems_.columns;
    p.inverse = problem == Problem::inverse;
    bind(p.a, 0);
    bind(p.out, step.n_inputs);
    bind_record(p.record);
    if constexpr (problem == Problem::cholesky) {
      p.upper = attrs_as<TriangleAttrs>(step.attrs.get()).upper;
      kernel = kernels::take_triangle(device, type_);
    } else {
      if (problem == Problem::solution) bind(p.b, 1);
      kernel = kernels::solutions(device, type_);
      rows_ = kernels::scale_rows(device, type_);
      columns_ = kernels::scale_columns(device, type_);
      sides_ = kernels::right_sides(device, type_);
    }
  }
  void raise(const device::ErrorRecord& record) const override {
    raise_failure(problem, record, p.n);
  }

 private:
  void run(const Enqueue& to, FactorArguments& q,
           std::span<const uint64_t> operands) const override {
    const auto workspace = static_cast<int64_t>(operands[workspace_]);
    const int64_t size = type_.size();
    const auto host = std::make_shared<std::vector<char>>(plan_.library.host);
    if (!host->empty()) to.kept->push_back(host);
    FactorLibrary::Operands at = {.a = 0,
                                  .pivots = static_cast<uint64_t>(workspace + plan_.pivots),
                                  .info = static_cast<uint64_t>(workspace + plan_.info),
                                  .device = static_cast<uint64_t>(workspace + plan_.device),
                                  .host = host->data(),
                                  .work = plan_.library};
    for (q.matrix = 0; q.matrix < systems_.count; ++q.matrix) {
      if constexpr (problem == Problem::cholesky)
        factor(to, q, at, workspace);
      else
        solve(to, q, at, workspace);
      q.a += q.n * q.n * size;
      q.b += q.n * q.columns * size;
      q.out += q.n * q.columns * size;
    }
  }
  /// The library factors lower triangles of its columns faster. An upper triangle in rows is one;
  /// a lower triangle becomes one in a transposed copy.
  void factor(const Enqueue& to, const FactorArguments& all, FactorLibrary::Operands at,
              int64_t workspace) const {
    FactorArguments q = all;
    const int64_t blocks = blocks_for(q.n * q.n);
    q.transposed = !all.upper;
    q.upper = 1;
    q.out = workspace + plan_.work;
    kernel.launch(to, blocks, q);
    at.a = static_cast<uint64_t>(q.out);
    to.device().hardware->factors()->cholesky(to.queue, type_, q.n, at);
    q.a = q.out;
    q.out = all.out;
    q.upper = all.upper;
    q.info = static_cast<int64_t>(at.info);
    kernel.launch(to, blocks, q);
  }
  void solve(const Enqueue& to, const FactorArguments& all, FactorLibrary::Operands at,
             int64_t workspace) const {
    FactorArguments q = all;
    q.work = workspace + plan_.work;
    q.exponents = workspace + plan_.exponents;
    q.info = static_cast<int64_t>(at.info);
    q.sides = problem == Problem::inverse ? q.out : workspace + plan_.sides;
    FactorLibrary& factors = *to.device().hardware->factors();
    rows_.launch(to, blocks_of(q.n, 8), q);
    columns_.launch(to, blocks_for(q.n), q);
    sides_.launch(to, blocks_for(q.n * q.columns), q);
    at.a = static_cast<uint64_t>(q.work);
    factors.lu(to.queue, type_, q.n, at);
    at.info += 4;  // the factors' is read below
    factors.solve(to.queue, type_, q.n, q.columns, problem == Problem::solution, at,
                  static_cast<uint64_t>(q.sides));
    kernel.launch(to, blocks_for(q.n * q.columns), q);
  }

  const Systems systems_;
  const Dtype type_;
  const FactorPlan plan_;
  const int workspace_;
  KernelOn<FactorArguments> rows_, columns_, sides_;
};

template <Problem problem>
bool find_linalg(const Attrs*, std::span<const Layout> operands, int n_inputs,
                 const DeviceState& device, Requirements& needs) {
  const Systems s(operands, n_inputs);
  const Dtype type = operands[0].dtype;
  const bool known = type == float32 || type == float64 || type == complex64 || type == complex128;
  if (!known || s.count * s.n * s.columns == 0 || s.n * s.columns > INT32_MAX / 2 ||
      s.n > INT32_MAX / 2)
    return false;
  FactorLibrary* const library = device.hardware->factors();
  const bool large = s.are_large() && library && library->has(type);
  if ((!s.are_small() && !large) || !all_in_rows(operands, n_inputs, needs)) return false;
  if (large)
    needs.workspace = static_cast<size_t>(FactorPlan(problem, s, type, *library).end);
  else if (problem != Problem::cholesky)
    needs.workspace = static_cast<size_t>(s.blocks(device) * s.n * s.n * type.size());
  return true;
}
template <Problem problem>
std::unique_ptr<const OpKernel> prepare_linalg(const Step& step, DeviceState& device) {
  if (Systems(found_operands(step), step.n_inputs).are_small())
    return prepare_as<SystemKernel<problem>>(step, device);
  return prepare_as<FactoredKernel<problem>>(step, device);
}

constexpr KernelEntry kLinalgKernels[] = {
    {"cholesky", find_linalg<Problem::cholesky>, prepare_linalg<Problem::cholesky>},
    {"inv", find_linalg<Problem::inverse>, prepare_linalg<Problem::inverse>},
    {"solve", find_linalg<Problem::solution>, prepare_linalg<Problem::solution>}};

}  // namespace

const std::span<const KernelEntry> linalg_kernels = kLinalgKernels;

}  // namespace mlx::core::gpu
