// Handles of a library of NVIDIA's, one for each stream, whose jobs run one at a time.
#pragma once

#include <mutex>
#include <unordered_map>

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/threads.h"

namespace mlx::core::cuda {

template <class Handle>
class StreamHandles {
 public:
  /// The handle of a stream. `make` makes one on its first use, in the device's context, and
  /// assigns it; it may throw.
  template <class Make>
  Handle of(gpu::StreamHandle stream, Make make) {
    std::lock_guard lock(mutex_);
    Handle& handle = handles_[stream];
    if (!handle) {
      gpu::on_own_stack([&] { make(handle); });
      gpu::drain_at_exit();
    }
    return handle;
  }
  /// Takes the handle of a stream that ends and passes it to `destroy`.
  template <class Destroy>
  void forget(gpu::StreamHandle stream, Destroy destroy) noexcept {
    Handle handle = nullptr;
    {
      std::lock_guard lock(mutex_);
      auto it = handles_.find(stream);
      if (it == handles_.end()) return;
      handle = it->second;
      handles_.erase(it);
    }
    if (handle) gpu::on_own_stack([&] { destroy(handle); });
  }

 private:
  std::mutex mutex_;
  std::unordered_map<gpu::StreamHandle, Handle> handles_;
};

}  // namespace mlx::core::cuda
