// Fourier transforms by own kernels, for devices without a library of them.
#pragma once

#include <memory>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/ops/fft.h"

namespace mlx::core::gpu {

/// Sets how the operand of a transform is read and its result written. False where the operand has
/// too many axes.
bool set_fft_operands(device::FftPassArguments& p, const FftAttrs& a, const Layout& in,
                      const Layout& out);

/// Whether there are kernels for a step of the op fft, and the workspace that they need.
bool find_fft_passes(const Attrs* attrs, const Layout& in, const Layout& out,
                     const DeviceState& device, Requirements& needs);
std::unique_ptr<const OpKernel> prepare_fft_passes(const Step& step, DeviceState& device);

}  // namespace mlx::core::gpu
