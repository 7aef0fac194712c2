// Host memory that the device reaches: pieces that small copies go through, and the records in
// which kernels say what they cannot use.
#pragma once

#include <mutex>
#include <vector>

#include "mlx/backend/gpu/device.h"
#include "mlx/backend/gpu/kernels/arguments.h"

namespace mlx::core::gpu {

/// Pieces of one size, made many at a time.
class Staging {
 public:
  static constexpr size_t kPiece = 64 << 10;
  explicit Staging(Hardware& hardware, size_t piece = kPiece, size_t many = 16)
      : hardware_(hardware), piece_(piece), many_(many) {}
  /// A piece. The device is entered. Throws MemoryError.
  void* take();
  void give(void* piece);

 private:
  Hardware& hardware_;
  const size_t piece_, many_;
  std::mutex mutex_;
  std::vector<void*> free_;
};

/// Error records of kernels.
class Records {
 public:
  explicit Records(Hardware& hardware) : pieces_(hardware, sizeof(device::ErrorRecord), 1024) {}
  /// An empty one. The device is entered. Throws MemoryError.
  device::ErrorRecord* take();
  void give(device::ErrorRecord* record) { pieces_.give(record); }

 private:
  Staging pieces_;
};

}  // namespace mlx::core::gpu
