// Backends in libraries.
#pragma once

#include <string>

#include "mlx/core/api.h"

namespace mlx::core {

/// Loads, once, the plugins that lie beside the engine's library and lets them register. A plugin
/// that is not there, or finds no device, changes nothing.
void load_plugins();
/// Loads a library and lets it register its backend. Throws FileError for a library that is none of
/// this build's plugins.
void load_plugin(const std::string& path);
/// Makes the CPU the process's default device in place of a GPU, without a lock: for a child of
/// fork in which the plugin's devices do not work.
MLX_API void leave_default_gpu();
/// The reason why there is no GPU, in a sentence; "" where there is one.
std::string missing_gpu();

}  // namespace mlx::core
