// NCCL, opened at run time: groups of processes whose GPUs exchange arrays.
#pragma once

namespace mlx::core::cuda {

/// Offers NCCL to the engine, which asks for it when a program starts a group.
void offer_nccl();

}  // namespace mlx::core::cuda
