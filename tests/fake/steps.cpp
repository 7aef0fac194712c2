// Steps of the second backend at one position of their loops.
#include "steps.h"

#include <cstring>

#include "control.h"
#include "hardware.h"
#include "mlx/backend/gpu/borrow.h"
#include "mlx/core/error.h"
#include "program.h"

namespace mlx::core::fake {

namespace {

/// Kernels run where the device's memory can be read.
struct MemoryCopies final : BorrowCopies {
  void to_host(void* to, uint64_t from, size_t bytes) override {
    std::memcpy(to, bytes_at(from), bytes);
  }
  void to_device(uint64_t to, const void* from, size_t bytes) override {
    std::memcpy(bytes_at(to), from, bytes);
  }
};

/// A step with a prologue, as the same op on the program's dense result.
Step without_prologue(Step step) {
  const Program& p = step.program;
  const Shape shape = step.operands[0].shape;
  const Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
  step.operands.erase(step.operands.begin(), step.operands.begin() + step.n_inputs);
  step.operands.insert(step.operands.begin(), {shape, row_major(shape), 0, type});
  if (step.workspace >= 0) step.workspace = step.workspace - step.n_inputs + 1;
  step.program = {};
  step.n_inputs = 1;
  return step;
}

/// A step with an epilogue, as the op that writes its result dense.
Step without_epilogue(const Step& step) {
  Step op = step;
  const Layout& out = step.operands[step.n_inputs];
  op.operands.assign(step.operands.begin(), step.operands.begin() + step.epilogue);
  op.operands.push_back({out.shape, row_major(out.shape), 0, Dtype(step.program.inputs[0])});
  if (step.workspace >= 0) op.operands.push_back(step.operands[step.workspace]);
  op.program = {};
  op.n_inputs = step.epilogue;
  op.epilogue = -1;
  op.workspace = step.workspace >= 0 ? step.epilogue + 1 : -1;
  return op;
}

/// The op of a step, for the CPU.
Step op_alone(const Step& step) {
  if (step.epilogue >= 0) return without_epilogue(step);
  return step.program.code.empty() ? step : without_prologue(step);
}

using Operands = SmallVector<uint64_t, 16>;

/// A step at one position of its loop.
class FakeKernel final : public gpu::OpKernel {
 public:
  FakeKernel(Step step, Device device) : step_(std::move(step)) {
    step_.loop = {};
    step_.advance = {};
    check_program(step_.program);
    if (step_.op) borrowed_ = std::make_unique<const BorrowedStep>(op_alone(step_), device);
  }
  void launch(const gpu::Enqueue& to, std::span<const uint64_t> operands) const override {
    const Operands base(operands.begin(), operands.end());
    if (!step_.op) return run_fused(base, to.constants);
    if (step_.epilogue >= 0) return run_with_epilogue(base, to.constants);
    if (!step_.program.code.empty()) return run_on_program(base, to.constants);
    run_borrowed(base);
  }

 private:
  void* first(const Operands& base, int k) const {
    const Layout& l = step_.operands[k];
    return bytes_at(base[k]) + l.offset * l.dtype.size();
  }
  void run_borrowed(const Operands& base) const {
    ++counts().borrowed;
    MemoryCopies copies;
    borrowed_->run({base.data(), base.size()}, nullptr, copies);
  }

  void run_fused(const Operands& base, const Scalar* constants) const {
    SmallVector<void*, 8> operands;
    for (size_t k = 0; k < base.size(); ++k) operands.push_back(first(base, static_cast<int>(k)));
    run_program(step_.program, step_.operands[step_.n_inputs].shape,
                {operands.data(), operands.size()}, step_.operands, constants);
  }

  /// The program's result, dense, then the op over it.
  void run_on_program(const Operands& base, const Scalar* constants) const {
    const Program& p = step_.program;
    const Shape& shape = step_.operands[0].shape;
    const Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    std::vector<std::max_align_t> result(num_elements(shape) * type.size() / 16 + 1);
    SmallVector<void*, 8> operands;
    std::vector<Layout> layouts(step_.operands.begin(), step_.operands.begin() + step_.n_inputs);
    for (int k = 0; k < step_.n_inputs; ++k) operands.push_back(first(base, k));
    operands.push_back(result.data());
    layouts.push_back({shape, row_major(shape), 0, type});
    run_program(p, shape, {operands.data(), operands.size()}, layouts, constants);
    Operands of_op{reinterpret_cast<uint64_t>(result.data())};
    for (size_t k = step_.n_inputs; k < base.size(); ++k) of_op.push_back(base[k]);
    run_borrowed(of_op);
  }

  std::pair<uint64_t, uint64_t> bytes_of(const Operands& base, int k) const {
    const Layout& l = step_.operands[k];
    auto [begin, last] = extent(l.shape, l.strides);
    const int64_t size = l.dtype.size();
    return {base[k] + (l.offset + begin) * size, base[k] + (l.offset + last + 1) * size};
  }
  /// Kernels that write their result in parts would read what they have written.
  bool writes_inputs_of_op(const Operands& base) const {
    for (int o = step_.n_inputs; o < step_.outputs_end(); ++o)
      for (int k = 0; k < step_.epilogue; ++k) {
        auto [begin, end] = bytes_of(base, k);
        auto [first, last] = bytes_of(base, o);
        if (num_elements(step_.operands[k].shape) && begin < last && first < end) return true;
      }
    return false;
  }

  /// The op's result, dense, then the program over it.
  void run_with_epilogue(const Operands& base, const Scalar* constants) const {
    if (writes_inputs_of_op(base))
      fail<ExecutionError>("fake", step_.op->name, " writes over an input of its op");
    const Program& p = step_.program;
    const Shape& shape = step_.operands[step_.n_inputs].shape;
    const Dtype type(p.inputs[0]);
    std::vector<std::max_align_t> result(num_elements(shape) * type.size() / 16 + 1);
    Operands of_op(base.begin(), base.begin() + step_.epilogue);
    of_op.push_back(reinterpret_cast<uint64_t>(result.data()));
    if (step_.workspace >= 0) of_op.push_back(base[step_.workspace]);
    run_borrowed(of_op);
    SmallVector<void*, 8> operands;
    std::vector<Layout> layouts{{shape, row_major(shape), 0, type}};
    operands.push_back(result.data());
    for (int k = step_.epilogue; k < step_.outputs_end(); ++k) {
      operands.push_back(first(base, k));
      layouts.push_back(step_.operands[k]);
    }
    run_program(p, shape, {operands.data(), operands.size()}, layouts, constants);
  }

  Step step_;
  std::unique_ptr<const BorrowedStep> borrowed_;
};

}  // namespace

std::unique_ptr<const gpu::OpKernel> prepare_step(const Step& step, Device device) {
  return std::make_unique<const FakeKernel>(step, device);
}

}  // namespace mlx::core::fake
