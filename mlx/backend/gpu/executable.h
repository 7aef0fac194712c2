// Prepared steps of a device, and launches of them.
#pragma once

#include "mlx/backend/backend.h"
#include "mlx/backend/gpu/kernel.h"

namespace mlx::core::gpu {

/// `find` gives the kernel of a step, or null for one that is borrowed from the CPU.
std::shared_ptr<const Executable> prepare_work(
    Work work, DeviceState& device,
    const std::function<std::unique_ptr<const OpKernel>(const Step&)>& find);
/// Hands a launch to its queue.
void start_launch(Launch launch);
/// The same for a copy.
void start_copy(Transfer copy);

/// Memory of the stream's device.
Ref<DeviceBuffer> take_memory(size_t bytes, Stream stream);
/// The address of a buffer of the device; throws ExecutionError for one of another space.
Address address_of(const Buffer& buffer);

}  // namespace mlx::core::gpu
