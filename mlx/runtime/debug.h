// Windows into the engine for tests and tools.
#pragma once

#include <string>
#include <vector>

#include "mlx/runtime/eval.h"

namespace mlx::core {

/// Loads a shared library and calls its `extern "C" void mlx_register_backend()`. Throws FileError.
void load_backend(const std::string& path);
/// Lets evaluations look for plans of earlier ones, or not. On at the start.
void set_plan_cache(bool on);
/// Turns fusion of elementwise chains off and on.
void set_fusion(bool on);

}  // namespace mlx::core
