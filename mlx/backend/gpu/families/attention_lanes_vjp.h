// The derivative of attention without the device's matrix units.
#pragma once

#include "mlx/backend/gpu/families/attention_tiles.h"

namespace mlx::core::gpu {

/// Whether the kernels of attention_lanes_vjp.cuh serve operands (inputs, then outputs), with the
/// wishes in `needs`.
bool find_lanes_vjp(std::span<const Layout> operands, int n_inputs, Requirements& needs);
std::unique_ptr<const OpKernel> prepare_lanes_vjp(const Step& step, DeviceState& device);

}  // namespace mlx::core::gpu
