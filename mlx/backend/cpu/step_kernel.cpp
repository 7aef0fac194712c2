// Prepares and runs single steps.
#include "mlx/backend/cpu/step_kernel.h"

#include "mlx/backend/common/steps.h"
#include "mlx/backend/cpu/control.h"
#include "mlx/backend/cpu/rows.h"

namespace mlx::core::cpu {

/// A step whose op has a kernel.
struct StepKernel::Op {
  explicit Op(Step&& s) : kernel(find_kernel(*s.op)), step(std::move(s)) {
    const Program& p = step.program;
    if (p.code.empty()) return;
    const Shape& shape = step.operands[0].shape;
    Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    input = {shape, row_major(shape), 0, type};
    program = std::make_unique<FusedKernel>(step, input);
  }

  void run(void* const* addresses, const Scalar* constants) const {
    if (program)
      run_with_prologue(addresses, constants);
    else if (step.loop.empty())
      run_once(addresses);
    else
      run_loop(addresses);
  }
  void run_with_prologue(void* const* addresses, const Scalar* constants) const {
    FusedSource source(*program, addresses, constants);
    const View in{nullptr, &input}, out{addresses[step.n_inputs], &step.operands[step.n_inputs]};
    void* workspace = step.workspace >= 0 ? addresses[step.workspace] : nullptr;
    kernel->run({{&in, 1}, {&out, 1}, step.attrs.get(), workspace, &source});
  }
  void run_once(void* const* addresses) const {
    SmallVector<View, 8> views;
    for (int k = 0; k < step.outputs_end(); ++k) views.push_back({addresses[k], &step.operands[k]});
    std::span<const View> all(views.data(), views.size());
    kernel->run({.in = all.subspan(0, step.n_inputs),
                 .out = all.subspan(step.n_inputs),
                 .attrs = step.attrs.get(),
                 .workspace = step.workspace >= 0 ? addresses[step.workspace] : nullptr});
  }
  /// Runs the kernel at each position of the loop.
  void run_loop(void* const* addresses) const {
    SmallVector<void*, 8> moved;
    moved.resize(step.operands.size());
    each_position(step.loop, [&](const Shape& at) {
      for (size_t k = 0; k < step.operands.size(); ++k)
        moved[k] = static_cast<char*>(addresses[k]) + moved_bytes(step, k, at);
      run_once(moved.data());
    });
  }

  const KernelEntry* kernel;
  Step step;
  std::unique_ptr<FusedKernel> program;  ///< prologue: computes the input, with this layout
  Layout input;
};

StepKernel::Kind StepKernel::prepare(Step&& step) {
  if (!step.routines.empty()) return std::make_unique<const ControlKernel>(std::move(step));
  if (step.unit) return std::make_unique<const RowKernel>(step);
  if (step.op) return std::make_unique<const Op>(std::move(step));
  return Kind(std::in_place_type<FusedKernel>, step);
}

StepKernel::StepKernel(Step&& step) : kind_(prepare(std::move(step))) {}
StepKernel::~StepKernel() = default;
StepKernel::StepKernel(StepKernel&&) noexcept = default;

void StepKernel::run(void* const* addresses, const Scalar* constants) const {
  if (const auto* fused = program())
    fused->run(addresses, constants);
  else if (const auto* op = std::get_if<std::unique_ptr<const Op>>(&kind_))
    (*op)->run(addresses, constants);
  else if (const auto* unit = std::get_if<std::unique_ptr<const RowKernel>>(&kind_))
    (*unit)->run(addresses, constants);
  else
    std::get<std::unique_ptr<const ControlKernel>>(kind_)->run(addresses);
}

const FusedKernel* StepKernel::program() const { return std::get_if<FusedKernel>(&kind_); }

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
