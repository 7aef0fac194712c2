// The device for Primitive::eval_gpu: addresses, its stream, temporary memory.
#pragma once

#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// While it lives, the calling thread runs the eval_gpu of a primitive. The memory that this takes
/// goes to `kept`, which is kept until the work that was enqueued is over.
class MLX_API DeviceScope {
 public:
  DeviceScope(Stream stream, std::vector<Ref<Buffer>>& kept);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  /// The calling thread's, or null.
  static DeviceScope* current();

  const Stream stream;
  std::vector<Ref<Buffer>>& kept;

 private:
  DeviceScope* const before_;
};

namespace cu {

/// The CUDA stream (a CUstream or cudaStream_t) of a stream on a GPU. In eval_gpu, what is enqueued
/// there runs after what computes the inputs and before what uses the outputs.
MLX_API void* stream(Stream s);
/// In eval_gpu: the address of an array's first element in the memory of the stream's device.
/// Throws ExecutionError for an array that is not there.
MLX_API void* address(const array& a);
template <class T>
T* data(const array& a) {
  return static_cast<T*>(address(a));
}
/// In eval_gpu: memory of the stream's device, until the work that was enqueued is over. Throws
/// MemoryError where there is none left.
MLX_API void* temporary(size_t bytes);

}  // namespace cu
}  // namespace mlx::core
