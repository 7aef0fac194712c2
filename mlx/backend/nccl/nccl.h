// NCCL, opened at run time: groups of processes whose GPUs exchange arrays.
#pragma once

#include <span>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::cuda {

/// Offers NCCL to the engine, which asks for it when a program starts a group.
void offer_nccl();

/// Kernels of collectives on arrays of the GPU.
extern const std::span<const gpu::KernelEntry> collective_kernels;

}  // namespace mlx::core::cuda
