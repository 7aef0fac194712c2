// Windows into the engine for tests and tools.
#pragma once

#include <string>
#include <vector>

#include "mlx/runtime/eval.h"

namespace mlx::core {

/// Loads a shared library and calls its `extern "C" void mlx_register_backend()`. Throws FileError.
void load_backend(const std::string& path);
/// Turns fusion of elementwise chains off and on.
void set_fusion(bool on);

}  // namespace mlx::core
