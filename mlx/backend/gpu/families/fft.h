// Fourier transforms along an axis, for families whose steps contain some.
#pragma once

#include <memory>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::gpu {

/// The two functions of the op fft in the table of families.
bool find_fft(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
              const DeviceState& device, Requirements& needs);
std::unique_ptr<const OpKernel> prepare_fft(const Step& step, DeviceState& device);

}  // namespace mlx::core::gpu
