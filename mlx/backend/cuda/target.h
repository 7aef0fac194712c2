// How kernels of the room are written for NVIDIA's compiler.
#pragma once

#include "mlx/backend/gpu/device.h"

namespace mlx::core::cuda {

extern const gpu::KernelTarget cuda_target;

}  // namespace mlx::core::cuda
