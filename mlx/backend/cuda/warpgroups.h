// Tiles for kernels by products of warpgroups, on devices of compute capability 9.0.
#pragma once

#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::cuda {

class CudaWarpgroups final : public gpu::Warpgroups {
 public:
  device::TileMap map(const gpu::TiledArray& a, int64_t address, int rows) override;
  void allow(gpu::FunctionHandle kernel, int shared) override;
};

}  // namespace mlx::core::cuda
