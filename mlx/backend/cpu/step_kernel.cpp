// Prepares and runs single steps.
#include "mlx/backend/cpu/step_kernel.h"

#include <variant>

#include "mlx/backend/common/steps.h"
#include "mlx/backend/cpu/control.h"
#include "mlx/backend/cpu/rows.h"

namespace mlx::core::cpu {

namespace {

/// A step whose op has a kernel.
struct OpStep {
  explicit OpStep(Step&& s) : kernel(find_kernel(*s.op)), step(std::move(s)) {
    const Program& p = step.program;
    if (p.code.empty()) return;
    const Shape& shape = step.operands[0].shape;
    Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    input = {shape, row_major(shape), 0, type};
    program = std::make_unique<FusedKernel>(step, input);
  }

  const KernelEntry* kernel;
  Step step;
  std::unique_ptr<FusedKernel> program;  ///< prologue: computes the input, with this layout
  Layout input;
};

void run_with_prologue(const OpStep& op, void* const* addresses, const Scalar* constants) {
  const Step& s = op.step;
  FusedSource source(*op.program, addresses, constants);
  const View in{nullptr, &op.input}, out{addresses[s.n_inputs], &s.operands[s.n_inputs]};
  void* workspace = s.workspace >= 0 ? addresses[s.workspace] : nullptr;
  op.kernel->run({{&in, 1}, {&out, 1}, s.attrs.get(), workspace, &source});
}

void run_kernel(const OpStep& op, void* const* addresses) {
  const Step& s = op.step;
  SmallVector<View, 8> views;
  for (int k = 0; k < s.outputs_end(); ++k) views.push_back({addresses[k], &s.operands[k]});
  std::span<const View> all(views.data(), views.size());
  op.kernel->run({.in = all.subspan(0, s.n_inputs),
                  .out = all.subspan(s.n_inputs),
                  .attrs = s.attrs.get(),
                  .workspace = s.workspace >= 0 ? addresses[s.workspace] : nullptr});
}

/// Runs the kernel at each position of the loop.
void run_loop(const OpStep& op, void* const* addresses) {
  const Step& s = op.step;
  SmallVector<void*, 8> moved;
  moved.resize(s.operands.size());
  each_position(s.loop, [&](const Shape& at) {
    for (size_t k = 0; k < s.operands.size(); ++k)
      moved[k] = static_cast<char*>(addresses[k]) + moved_bytes(s, k, at);
    run_kernel(op, moved.data());
  });
}

void run_op(const OpStep& op, void* const* addresses, const Scalar* constants) {
  if (op.program)
    run_with_prologue(op, addresses, constants);
  else if (op.step.loop.empty())
    run_kernel(op, addresses);
  else
    run_loop(op, addresses);
}

}  // namespace

struct StepKernel::Impl {
  using Kind = std::variant<FusedKernel, OpStep, RowKernel, ControlKernel>;

  static Kind prepare(Step&& step) {
    if (!step.routines.empty()) return Kind(std::in_place_type<ControlKernel>, std::move(step));
    if (step.unit) return Kind(std::in_place_type<RowKernel>, step);
    if (step.op) return Kind(std::in_place_type<OpStep>, std::move(step));
    return Kind(std::in_place_type<FusedKernel>, step);
  }

  Kind kind;
};

StepKernel::StepKernel(Step step) : impl_(new Impl{Impl::prepare(std::move(step))}) {}
StepKernel::~StepKernel() = default;
StepKernel::StepKernel(StepKernel&&) noexcept = default;

void StepKernel::run(void* const* addresses, const Scalar* constants) const {
  const auto& kind = impl_->kind;
  if (const auto* fused = std::get_if<FusedKernel>(&kind))
    fused->run(addresses, constants);
  else if (const auto* op = std::get_if<OpStep>(&kind))
    run_op(*op, addresses, constants);
  else if (const auto* unit = std::get_if<RowKernel>(&kind))
    unit->run(addresses, constants);
  else
    std::get<ControlKernel>(kind).run(addresses);
}

const FusedKernel* StepKernel::program() const { return std::get_if<FusedKernel>(&impl_->kind); }

SmallVector<int64_t, 8> StepKernel::offsets_of(const Step& step) {
  SmallVector<int64_t, 8> offsets;
  for (const Layout& l : step.operands)
    offsets.push_back(step.unit ? 0 : l.offset * l.dtype.size());
  return offsets;
}

int64_t StepKernel::bytes_of(const Step& s) {
  int64_t n = 0;
  for (const Layout& l : s.operands) n += num_elements(l.shape) * l.dtype.size();
  return n * num_elements(s.loop);
}

}  // namespace mlx::core::cpu
