// Fourier transforms of lines whose elements lie apart, each in the memory of a block.
#pragma once

#include <memory>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/ops/fft.h"

namespace mlx::core::gpu {

/// Whether one kernel transforms such lines: several neighbours with a power of two of elements.
bool is_strided_fft(const FftAttrs& a, const Layout& in, const Layout& out, Hardware& hardware);
std::unique_ptr<const OpKernel> prepare_strided_fft(const Step& step, DeviceState& device);

}  // namespace mlx::core::gpu
