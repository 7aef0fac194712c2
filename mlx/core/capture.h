// Records of a device's work for another program.
#pragma once

#include <string>

#include "mlx/core/api.h"
#include "mlx/core/device.h"

namespace mlx::core {

/// Records the work of a device in a document at a path. Throws ExecutionError where the device
/// keeps no such records, or refuses.
MLX_API void start_capture(const Device& d, const std::string& path);
/// Ends the record. Throws ExecutionError where none has begun.
MLX_API void stop_capture(const Device& d);

}  // namespace mlx::core
