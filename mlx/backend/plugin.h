// The C functions that a library with a backend exports. The engine asks for them by name.
#pragma once

namespace mlx::core {

/// Number of the interface between engine and plugins, which a change of backend/*.h or of a class
/// in core increases: a plugin of another build is not loaded. `int mlx_plugin_abi()` gives the
/// plugin's.
inline constexpr int kPluginAbi = 4;

// void mlx_register_backend(): registers the backend if there is a device that it can use.
// const char* mlx_missing_device(): the reason, if it has registered none; else "".

}  // namespace mlx::core
