// Graphs of kernels and calls of libraries, by NVIDIA's driver.
#pragma once

#include "mlx/backend/cuda/driver.h"

namespace mlx::core::cuda {

/// Whether the environment lets kernels run as graphs: MLX_USE_CUDA_GRAPHS is not 0.
bool graphs_allowed();
/// A graph whose calls run in order, or null where the driver makes none of them. Calls of
/// libraries are captured on the stream; throws what they throw. `overlaps`: kernels wait for the
/// one before by themselves.
std::unique_ptr<gpu::DeviceGraph> make_graph(ContextHandle context, bool overlaps,
                                             std::span<const gpu::DeviceCall> calls,
                                             StreamHandle stream);

}  // namespace mlx::core::cuda
