// A value for each element of a step's output, before a kernel that a program brings.
#pragma once

#include <span>

#include "mlx/backend/gpu/families/fused.h"

namespace mlx::core::gpu {

class Fill {
 public:
  /// `operand`: of the step, the output.
  Fill(const Layout& out, int operand, double value, DeviceState& device);
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const;

 private:
  struct Arguments {
    int64_t out, count, value;
  };
  int operand_;
  int64_t offset_, count_;
  ArgumentBlock<Arguments> arguments_;
  Kernel kernel_;
};

}  // namespace mlx::core::gpu
