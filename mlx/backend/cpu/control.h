// Control flow on the CPU: loops and branches whose functions are prepared steps. An iteration
// plans and allocates nothing.
#pragma once

#include <memory>

#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// The step of a scan, a while loop or a switch, prepared.
class ControlKernel {
 public:
  explicit ControlKernel(Step step);
  ~ControlKernel();
  ControlKernel(ControlKernel&&) noexcept;
  /// `addresses`: of the operands, which are row-contiguous, and of the workspace. Throws
  /// Interrupted for a signal: the step may then run again.
  void run(void* const* addresses) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace mlx::core::cpu
