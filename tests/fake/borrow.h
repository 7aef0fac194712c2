// Kernels that the device lacks: they run through the CPU, on copies of their operands.
#pragma once

#include "mlx/backend/backend.h"

namespace mlx::core::fake {

/// A step of the CPU, prepared once.
class BorrowedStep {
 public:
  BorrowedStep(const Step& step, Device device);
  /// `operands`: device addresses that the layouts' offsets count from. A step with a program takes
  /// its input from `computed`, row-contiguous.
  void run(std::span<unsigned char* const> operands, const void* computed) const;

 private:
  struct Range {
    int64_t first, end;  // bytes
  };
  Range range(int operand) const;

  Step step_;  // as the CPU sees it
  std::shared_ptr<const Executable> executable_;
};

}  // namespace mlx::core::fake
