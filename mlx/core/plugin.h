// Backends in libraries.
#pragma once

#include <string>

namespace mlx::core {

/// Loads, once, the plugins that lie beside the engine's library and lets them register. A plugin
/// that is not there, or finds no device, changes nothing.
void load_plugins();
/// Loads a library and lets it register its backend. Throws FileError for a library that is none of
/// this build's plugins.
void load_plugin(const std::string& path);
/// The reason why there is no GPU, in a sentence; "" where there is one.
std::string missing_gpu();

}  // namespace mlx::core
