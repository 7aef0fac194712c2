// Products through cuBLAS, where that library is found.
#pragma once

#include "mlx/backend/cuda/blas_rows.h"
#include "mlx/backend/cuda/stream_handles.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::cuda {

class CudaHardware;

class Blas final : public gpu::ProductLibrary {
 public:
  explicit Blas(CudaHardware& hardware) : hardware_(hardware), with_rows_(hardware) {}
  bool has(Dtype type) override;
  void run(gpu::Queue& queue, const gpu::Gemm& g) override;
  std::shared_ptr<const gpu::RowProductPlan> plan(const gpu::RowProduct& product) override {
    return with_rows_.plan(product);
  }
  /// Gives back what the library has for a stream.
  void forget(gpu::StreamHandle stream) noexcept;

 private:
  using Handle = struct OpaqueHandle*;
  /// A handle with its temporary memory. The library would take memory as it is called, which
  /// cannot be part of a graph.
  struct Opened {
    explicit Opened(CudaHardware& hardware) : hardware(hardware) {}
    ~Opened();
    Opened(const Opened&) = delete;
    void open(gpu::StreamHandle stream);
    CudaHardware& hardware;
    Handle handle = nullptr;
    gpu::Address work = 0;
  };
  /// One for each stream, whose jobs run one at a time.
  Handle handle_of(gpu::StreamHandle stream);
  void multiply(Handle handle, const gpu::Gemm& g);

  CudaHardware& hardware_;
  StreamHandles<Opened*> handles_;
  RowProducts with_rows_;
};

}  // namespace mlx::core::cuda
