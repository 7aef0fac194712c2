// Steps of the CPU, prepared to run at given addresses: fused programs, kernels of ops, units of
// rows, and control flow.
#pragma once

#include <memory>
#include <variant>

#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

class ControlKernel;
class RowKernel;

/// A prepared step.
class StepKernel {
 public:
  explicit StepKernel(Step&& step);
  ~StepKernel();
  StepKernel(StepKernel&&) noexcept;
  /// `addresses`: of the operands' first elements (inputs, then outputs, then the workspace), which
  /// are `offsets_of` from where the bindings begin; `constants`: the step's.
  void run(void* const* addresses, const Scalar* constants) const;
  /// The program of the step, where it is nothing else.
  const FusedKernel* program() const;

  /// Bytes from where the binding of each operand begins to what the kernel takes.
  static SmallVector<int64_t, 8> offsets_of(const Step& step);
  /// Bytes that a step reads and writes, roughly.
  static int64_t bytes_of(const Step& step);

 private:
  struct Op;
  using Kind = std::variant<FusedKernel, std::unique_ptr<const Op>,
                            std::unique_ptr<const RowKernel>, std::unique_ptr<const ControlKernel>>;
  static Kind prepare(Step&& step);

  Kind kind_;
};

}  // namespace mlx::core::cpu
