// Loads and stores of neighbours in memory of the device.
#pragma once

namespace mlx {
namespace core {
namespace mlx_device {

/// V neighbours; where fewer are left, the first one in the place of others.
template <class T, int V, class I>
inline void load_some(thread T (&to)[V], const device T* from, I left) {
#pragma unroll
  for (int k = 0; k < V; ++k) to[k] = from[static_cast<I>(k) < left ? k : 0];
}
/// As many of V neighbours as are left.
template <class T, int V, class I>
inline void store_some(device T* to, thread const T (&from)[V], I left) {
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (static_cast<I>(k) < left) to[k] = from[k];
}

}  // namespace mlx_device
}  // namespace core
}  // namespace mlx
