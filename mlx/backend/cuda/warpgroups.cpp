// Maps of tiles, and shared memory of kernels, by NVIDIA's driver.
#include "mlx/backend/cuda/warpgroups.h"

#include "mlx/backend/cuda/driver.h"

namespace mlx::core::cuda {

device::TileMap CudaWarpgroups::map(const gpu::TiledArray& a, int64_t address, int rows) {
  constexpr int kElementBytes = 2, kFloat16 = 6, kBfloat16 = 9;
  // Rows of 128 bytes, whose parts of 16 are permuted; pairs of rows come into the cache at once.
  constexpr int kNoInterleave = 0, kPermuted128 = 3, kPromoted128 = 2, kZeros = 0;
  uint64_t sizes[4], steps[3];
  for (int axis = 0; axis < 4; ++axis) sizes[axis] = static_cast<uint64_t>(a.sizes[axis]);
  for (int axis = 0; axis < 3; ++axis)
    steps[axis] = static_cast<uint64_t>(a.steps[axis] * kElementBytes);
  const uint32_t tile[4] = {device::kTileColumns, static_cast<uint32_t>(rows), 1, 1};
  const uint32_t ones[4] = {1, 1, 1, 1};
  device::TileMap map;
  check(driver().encode_tiles(&map, a.type == Dtype::Val::bfloat16 ? kBfloat16 : kFloat16, 4,
                              reinterpret_cast<void*>(address), sizes, steps, tile, ones,
                              kNoInterleave, kPermuted128, kPromoted128, kZeros),
        "cuTensorMapEncodeTiled");
  return map;
}

void CudaWarpgroups::allow(gpu::FunctionHandle kernel, int shared) {
  check(driver().set_function(kernel, kFunctionSharedBytes, shared), "cuFuncSetAttribute");
}

}  // namespace mlx::core::cuda
