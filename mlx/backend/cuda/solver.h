// Factors of matrices through cuSOLVER, where that library is found.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "mlx/backend/cuda/stream_handles.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::cuda {

class CudaHardware;

class Solver final : public gpu::FactorLibrary {
 public:
  explicit Solver(CudaHardware& hardware) : hardware_(hardware) {}
  bool has(Dtype type) override;
  Work work(Form form, Dtype type, int64_t n) override;
  void cholesky(gpu::Queue& queue, Dtype type, int64_t n, const Operands& at) override;
  void lu(gpu::Queue& queue, Dtype type, int64_t n, const Operands& at) override;
  void solve(gpu::Queue& queue, Dtype type, int64_t n, int64_t columns, bool transposed,
             const Operands& at, uint64_t x) override;
  Work qr_work(Dtype type, int64_t m, int64_t n) override;
  void reflectors(gpu::Queue& queue, Dtype type, int64_t m, int64_t n, const Operands& at) override;
  void orthogonal(gpu::Queue& queue, Dtype type, int64_t m, int64_t n, const Operands& at) override;
  /// Gives back what the library has for a stream.
  void forget(gpu::StreamHandle stream) noexcept;

 private:
  using Handle = struct OpaqueSolver*;
  /// A handle for each stream, whose jobs run one at a time; null: for questions.
  Handle handle_of(gpu::StreamHandle stream);

  CudaHardware& hardware_;
  StreamHandles<Handle> handles_;
  std::mutex mutex_;  // of what follows
  std::map<std::tuple<Form, Dtype::Val, int64_t>, Work> works_;
};

}  // namespace mlx::core::cuda
