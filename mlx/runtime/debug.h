// Windows into the engine for tests and tools.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::core {

class Plan;

/// Loads a shared library and calls its `extern "C" void mlx_register_backend()`. Throws FileError.
MLX_API void load_backend(const std::string& path);
/// Lets evaluations look for plans of earlier ones, or not. On at the start.
MLX_API void set_plan_cache(bool on);
/// The ops that are not computed yet and that the arrays come from, each with its stream's index.
MLX_API std::vector<std::pair<std::string, int>> node_streams(const std::vector<array>& arrays);
/// Turns fusion of elementwise chains off and on.
MLX_API void set_fusion(bool on);
/// Prints the steps of a new plan under MLX_DEBUG=plan.
void print_if_wanted(const Plan& plan);

}  // namespace mlx::core
