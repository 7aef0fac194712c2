// Kernels of the second backend: an interpreter for fused programs, and the CPU's
// kernels for ops.
#pragma once

#include "mlx/backend/gpu/kernel.h"

namespace mlx::core::fake {

std::unique_ptr<const gpu::OpKernel> prepare_step(const Step& step, Device device);

}  // namespace mlx::core::fake
