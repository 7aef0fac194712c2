// The kernel families of the CPU. Every family defines its rows in its own file and is listed here.
#pragma once

#include <span>

#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// Calls F for each family.
#define MLX_KERNEL_FAMILIES(F) \
  F(creation_kernels)          \
  F(file_read_kernels)         \
  F(concat_kernels)            \
  F(slice_kernels)             \
  F(index_kernels)             \
  F(scatter_kernels)           \
  F(compact_entries)           \
  F(reduce_kernels)            \
  F(softmax_kernels)           \
  F(scan_kernels)              \
  F(sort_kernels)              \
  F(counting_entries)          \
  F(matmul_kernels)            \
  F(conv_kernels)              \
  F(quantized_kernels)         \
  F(random_kernels)            \
  F(draw_entries)              \
  F(series_entries)            \
  F(norm_kernels)              \
  F(rope_kernels)              \
  F(attention_kernels)         \
  F(attention_vjp_kernels)     \
  F(delta_kernels)             \
  F(ctc_kernels)               \
  F(hadamard_kernels)          \
  F(fft_kernels)               \
  F(spectrum_kernels)          \
  F(linalg_kernels)            \
  F(spectral_kernels)          \
  F(collective_kernels)        \
  F(control_kernels)           \
  F(custom_kernels)

#define MLX_DECLARE_FAMILY(name) extern const std::span<const KernelEntry> name;
MLX_KERNEL_FAMILIES(MLX_DECLARE_FAMILY)
#undef MLX_DECLARE_FAMILY

}  // namespace mlx::core::cpu
