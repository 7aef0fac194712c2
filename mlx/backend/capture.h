// The further interface of backends that record their device's work for another program.
#pragma once

#include <string>

#include "mlx/core/api.h"

namespace mlx::core {

struct MLX_API Capture {
  virtual ~Capture() = default;
  /// Begins a record, in a document at a path. Throws ExecutionError where the device refuses.
  virtual void start_capture(const std::string& path) = 0;
  /// Ends it. Throws ExecutionError where none has begun.
  virtual void stop_capture() = 0;
};

}  // namespace mlx::core
