// How kernels of the room are written for NVIDIA's compiler.
#include "mlx/backend/cuda/target.h"

namespace mlx::core::cuda {

const gpu::KernelTarget cuda_target = {
    .head = "#include \"mlx/backend/cuda/device/target.cuh\"\n",
    .folder = "mlx/backend/gpu/kernels/",
    .declaration = "MLX_KERNEL",
    .first = "blockIdx.x",
    .step = "gridDim.x",
    .thread = "threadIdx.x",
};

}  // namespace mlx::core::cuda
