// An NVIDIA GPU as the room of GPUs knows it: its context, its events, its compiler.
#pragma once

#include <mutex>
#include <vector>

#include "mlx/backend/cuda/blas.h"
#include "mlx/backend/cuda/conv_library.h"
#include "mlx/backend/cuda/driver.h"
#include "mlx/backend/cuda/fft_library.h"
#include "mlx/backend/cuda/solver.h"
#include "mlx/backend/cuda/warpgroups.h"
#include "mlx/backend/gpu/devices.h"

namespace mlx::core::cuda {

using gpu::DeviceState;
using gpu::Queue;

class CudaHardware final : public gpu::Hardware {
 public:
  explicit CudaHardware(int index);

  void enter() override;
  void begin(StreamHandle) override;
  Address alloc(size_t bytes) override;
  void free(Address address) noexcept override;
  void* alloc_host(size_t bytes) override;
  StreamHandle make_stream(int) override;
  void free_stream(StreamHandle stream) noexcept override;
  void copy(Way way, Address to, Address from, size_t bytes, StreamHandle stream) override;
  void launch(const gpu::DeviceCall& kernel, StreamHandle stream) override;
  std::unique_ptr<gpu::DeviceGraph> graph_of(std::span<const gpu::DeviceCall> calls,
                                             StreamHandle stream) override;
  EventHandle record(StreamHandle stream) override;
  void free_event(EventHandle event) noexcept override;
  bool reached(EventHandle event, std::exception_ptr& fault) override;
  void wait(EventHandle event) override;
  void stream_waits(StreamHandle stream, EventHandle event) override;
  void wait_stream(StreamHandle stream) override;
  std::string identity() override;
  std::string compile(const std::string& source) override;
  FunctionHandle load(const std::string& code, const char* name, void*& module) override;
  void unload(void* module) noexcept override;
  const gpu::KernelTarget* target() const override;
  gpu::ProductLibrary* products() override { return &blas_; }
  gpu::FourierLibrary* fourier() override { return &fft_; }
  gpu::ConvolutionLibrary* convolutions() override { return &convolutions_; }
  gpu::FactorLibrary* factors() override { return &solver_; }
  gpu::Warpgroups* warpgroups() override { return has_warpgroups_ ? &warpgroups_ : nullptr; }

  int ordinal = 0;
  std::string name, architecture, uuid, bus_id;
  int major = 0, minor = 0;
  size_t bytes = 0;  ///< of memory

 private:
  /// The architecture that kernels are compiled for.
  std::string instructions() const { return architecture + (has_warpgroups_ ? "a" : ""); }

  ContextHandle context_ = nullptr;
  std::mutex mutex_;
  std::vector<EventHandle> events_;  ///< to be used again
  bool has_warpgroups_ = false;
  Blas blas_{*this};
  CudaFourier fft_{*this};
  CudaConvolutions convolutions_{*this};
  Solver solver_{*this};
  CudaWarpgroups warpgroups_;
};

/// The hardware of a device of this plugin.
inline CudaHardware& hardware_of(const DeviceState& device) {
  return static_cast<CudaHardware&>(*device.hardware);
}

}  // namespace mlx::core::cuda
