// Attention of many queries in 16 bits, by the device's matrix units.
#pragma once

#include <string>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::gpu {

/// A kernel of kernels/attention_tiles.cuh for a step.
struct AttentionTiles {
  int64_t blocks = 0;     ///< 0: these kernels do not serve the step
  std::string text;       ///< of the kernel
  std::string unaligned;  ///< the same for addresses that are no multiples of 16; or empty
};
AttentionTiles attention_tiles(const Step& step, bool has_mask, int processors);

}  // namespace mlx::core::gpu
