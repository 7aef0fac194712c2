// Loops of functions that are planned for a device: each iteration enqueues the kernels of the
// function's steps, without waiting for the device.
#pragma once

#include <functional>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::gpu {

/// Whether a device may run loops of the op, and whether a step is one that is planned for it.
bool may_run_loop(const OpDef& op);
bool is_planned_loop(const Step& step);
/// Whether a step is a loop that runs on the device, for which its function is planned. A loop of
/// small arrays is faster on the host, and so is one with a step that has no kernel here, as
/// `has_kernel` says.
bool runs_loop(const Step& step, const std::function<bool(const Step&)>& has_kernel);

/// The kernel of such a step; `prepare` makes those of the steps inside.
std::unique_ptr<const OpKernel> prepare_loop(
    const Step& step, DeviceState& device,
    const std::function<std::unique_ptr<const OpKernel>(const Step&)>& prepare);

}  // namespace mlx::core::gpu
