// Fourier transforms of lines through cuFFT, where that library is found.
#pragma once

#include <list>
#include <mutex>
#include <set>
#include <utility>

#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::cuda {

class CudaHardware;

class CudaFourier final : public gpu::FourierLibrary {
 public:
  explicit CudaFourier(CudaHardware& hardware) : hardware_(hardware) {}
  /// Throws where the library fails, and asks it again the next time.
  std::shared_ptr<const gpu::FftPlan> plan(const gpu::FftLines& lines) override;

 private:
  using Kept = std::pair<gpu::FftLines, std::shared_ptr<const gpu::FftPlan>>;
  CudaHardware& hardware_;
  std::mutex mutex_;
  std::list<Kept> plans_;  // the last used first
  std::set<gpu::FftLines> refused_;
};

}  // namespace mlx::core::cuda
