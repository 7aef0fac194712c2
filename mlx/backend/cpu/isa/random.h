// The random number generator, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// 2011).
struct RandomKernels {
  /// first[i], second[i] = the words for the counter (start + i, start + i + distance), i < n.
  void (*threefry)(const uint32_t key[2], uint32_t start, uint32_t distance, int64_t n,
                   uint32_t* first, uint32_t* second);
  /// out[i] = the first word, or the second where second[i], for the key (key0[i], key1[i]) and the
  /// counter (x[i], y[i]), i < n.
  void (*words)(const uint32_t* key0, const uint32_t* key1, const uint32_t* x, const uint32_t* y,
                const uint32_t* second, int64_t n, uint32_t* out);
};

// Exported for tests.
#define MLX_RANDOM_TABLE(isa, ...)                   \
  namespace isa {                                    \
  extern const MLX_API RandomKernels random_kernels; \
  }
MLX_EACH_ISA(MLX_RANDOM_TABLE)
#undef MLX_RANDOM_TABLE

}  // namespace mlx::core::cpu
