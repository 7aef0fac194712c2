// Prepared steps of a device, and a launch of them.
#pragma once

#include "mlx/backend/backend.h"
#include "mlx/backend/cuda/device.h"

namespace mlx::core::cuda {

std::shared_ptr<const Executable> prepare_work(Work work);
/// Memory for the temporaries of one launch.
size_t arena_bytes(const Executable& executable);
/// True where a step waits for the device on the host, or enqueuing all of them may.
bool waits(const Executable& executable);
/// The error of what failed on the host, what was not written, and what kernels will have reported
/// when the work is over, if they can.
struct Outcome {
  std::exception_ptr error;
  std::vector<const Buffer*> unwritten;
  std::function<std::exception_ptr(std::vector<const Buffer*>&)> reported = {};
  std::vector<Ref<Buffer>> kept = {};  ///< until the work is over
};
/// Enqueues the launch's steps.
Outcome run_steps(const Launch& launch, const Ref<DeviceBuffer>& arena, Queue& queue);

/// The address of a buffer of the device; throws ExecutionError for one of another space.
Address address_of(const Buffer& buffer);

}  // namespace mlx::core::cuda
