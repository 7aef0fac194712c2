// Pieces of host memory that the device reaches.
#include "mlx/backend/gpu/staging.h"

namespace mlx::core::gpu {

void* Staging::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    auto* memory = static_cast<char*>(hardware_.alloc_host(many_ * piece_));
    for (size_t k = 0; k < many_; ++k) free_.push_back(memory + k * piece_);
  }
  void* piece = free_.back();
  free_.pop_back();
  return piece;
}

void Staging::give(void* piece) {
  std::lock_guard lock(mutex_);
  free_.push_back(piece);
}

device::ErrorRecord* Records::take() { return new (pieces_.take()) device::ErrorRecord{}; }

}  // namespace mlx::core::gpu
