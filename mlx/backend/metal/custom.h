// Kernels for Metal that programs bring as source.
#pragma once

#include <memory>
#include <span>

#include "mlx/backend/gpu/kernel.h"

namespace mlx::core::metal {

/// Adds the layouts that a kernel asks for.
void ask_for_custom(const Attrs* attrs, int n_inputs, Requirements& needs);
std::unique_ptr<const gpu::OpKernel> prepare_custom(const Step& step, gpu::DeviceState& device);

}  // namespace mlx::core::metal
