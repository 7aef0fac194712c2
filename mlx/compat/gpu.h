// Which backends of GPUs there are.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/device.h"

namespace mlx::core {

namespace gpu {
/// True if a backend serves GPUs.
MLX_API bool is_available();
MLX_API int device_count();
/// Throws ValueError where there is no such device.
MLX_API const DeviceInfo& device_info(int index = 0);
}  // namespace gpu

namespace metal {
/// True if a backend for Metal serves a GPU.
MLX_API bool is_available();
/// Begins and ends a record of the GPU's work, a document for Xcode (".gputrace"). Throws
/// ExecutionError where the system refuses; without Metal nothing happens.
MLX_API void start_capture(const std::string& path = "");
MLX_API void stop_capture();
/// Throws ExecutionError without a Metal backend.
MLX_API const DeviceInfo& device_info();
}  // namespace metal

namespace cu {
/// True if NVIDIA GPUs can be used.
MLX_API bool is_available();
}  // namespace cu

}  // namespace mlx::core
