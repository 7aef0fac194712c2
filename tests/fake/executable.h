// Prepared steps of the second backend, and a launch of them.
#pragma once

#include "memory.h"
#include "mlx/backend/backend.h"

namespace mlx::core::fake {

std::shared_ptr<const Executable> prepare_work(Work work);
/// Memory for the temporaries of one launch, or null where there are none.
size_t arena_bytes(const Executable& executable);
/// Runs the launch's steps, on the stream's thread. Gives the error and what was not written.
struct Outcome {
  std::exception_ptr error;
  std::vector<const Buffer*> unwritten;
};
Outcome run_steps(const Launch& launch, const Ref<DeviceBuffer>& arena);

/// The device's bytes of a buffer; throws ExecutionError for one of another space.
unsigned char* device_bytes(const Buffer& buffer);

}  // namespace mlx::core::fake
