// Convolutions and their derivatives through cuDNN, where that library is found.
#pragma once

#include <list>
#include <mutex>
#include <set>
#include <utility>

#include "mlx/backend/cuda/cudnn.h"
#include "mlx/backend/cuda/stream_handles.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::cuda {

class CudaHardware;

class CudaConvolutions final : public gpu::ConvolutionLibrary {
 public:
  explicit CudaConvolutions(CudaHardware& hardware) : hardware_(hardware) {}
  /// Throws where the library fails, and asks it again the next time.
  std::shared_ptr<const gpu::ConvolutionPlan> plan(const gpu::Convolution& c) override;
  /// A handle for each stream, whose jobs run one at a time.
  CudnnHandle handle_of(gpu::StreamHandle stream);
  /// Gives back what the library has for a stream.
  void forget(gpu::StreamHandle stream) noexcept;

 private:
  using Kept = std::pair<gpu::Convolution, std::shared_ptr<const gpu::ConvolutionPlan>>;
  /// Whether the library serves this device: it makes a handle, which plans are asked with.
  bool serves();

  CudaHardware& hardware_;
  StreamHandles<CudnnHandle> handles_;
  std::mutex planning_;  // of what follows
  enum class State { unknown, serves, refuses } state_ = State::unknown;
  CudnnHandle asked_ = nullptr;
  std::list<Kept> plans_;  // the last used first
  std::set<gpu::Convolution> refused_;
};

}  // namespace mlx::core::cuda
