// Faults of a device, after which none of its calls works: the kernels of the program that may have
// caused them.
#pragma once

#include <string>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::cuda {

/// Notes a kernel of the program that the stream has got.
void note_kernel(gpu::StreamHandle stream, const std::string& name);
/// Notes that the event ends what the stream has by now.
void note_end(gpu::EventHandle event, gpu::StreamHandle stream);
/// Notes that the device is past the event, or has done what the stream had, without a fault.
void note_reached(gpu::EventHandle event);
void note_idle(gpu::StreamHandle stream);

/// True for a status with which each call fails after a kernel failed on the device.
bool is_fault(int status);
/// The fault as a sentence, with the names of kernels of the program that were not over. `error`:
/// the driver's words for it.
std::string fault_text(const std::string& error);

}  // namespace mlx::core::cuda
