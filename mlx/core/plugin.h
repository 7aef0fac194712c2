// Backends in libraries of their own.
#pragma once

namespace mlx::core {

/// Loads, once, the plugins that lie beside the engine's library and lets them register. One that
/// is not there, or finds no device, changes nothing.
void load_plugins();

}  // namespace mlx::core
