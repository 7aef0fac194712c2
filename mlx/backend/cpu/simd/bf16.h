// Whether the processor has instructions for bfloat16 that AVX-512 alone does not imply.
#pragma once

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {

/// True if the processor converts to bfloat16: some with AVX-512 do not.
inline bool converts_to_bf16() {
#if defined(__AVX512BF16__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace mlx::core::cpu::MLX_ISA
