// Products to whose rows a row is added as they are stored, through cuBLASLt, where it is found.
#pragma once

#include <list>
#include <mutex>
#include <utility>

#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::cuda {

class CudaHardware;

class RowProducts {
 public:
  explicit RowProducts(CudaHardware& hardware) : hardware_(hardware) {}
  /// Throws where the library fails, and asks it again the next time.
  std::shared_ptr<const gpu::RowProductPlan> plan(const gpu::RowProduct& product);

 private:
  using Kept = std::pair<gpu::RowProduct, std::shared_ptr<const gpu::RowProductPlan>>;
  CudaHardware& hardware_;
  std::mutex mutex_;
  struct OpaqueHandle* handle_ = nullptr;  ///< of the library, made on first use
  std::list<Kept> plans_;  // the last used first; null for products that the library does not make
};

}  // namespace mlx::core::cuda
