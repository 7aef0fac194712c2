// The families of CPU kernels; table.cpp collects their rows.
#pragma once

#include <span>

#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

extern const std::span<const KernelEntry> creation_kernels, concat_kernels, slice_kernels,
    index_kernels, scatter_kernels, reduce_kernels, softmax_kernels, scan_kernels, sort_kernels,
    matmul_kernels, conv_kernels, random_kernels, custom_kernels, norm_kernels, rope_kernels,
    attention_kernels, delta_kernels, quantized_kernels, hadamard_kernels, fft_kernels,
    linalg_kernels, spectral_kernels, counting_entries, compact_entries;

}  // namespace mlx::core::cpu
