// Attention of many queries by the device's matrix units: in 16 bits, or in float32 that products
// may round to TF32.
#pragma once

#include <string>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/attention.h"

namespace mlx::core::gpu {

/// Rows of a head of the keys that other kernels serve, with the keys divided among blocks.
inline constexpr int64_t kFewRows = 16;
/// Rows that a block of these kernels has.
inline constexpr int64_t kRowsOfBlock = 128;

/// A kernel of kernels/attention_tiles.cuh, attention_tf32.cuh or attention_floats.cuh for a step.
struct AttentionTiles {
  int64_t blocks = 0;     ///< 0: these kernels do not serve the step
  const char* file = "";  ///< of the three
  std::string text;       ///< of the kernel
  std::string unaligned;  ///< the same for addresses that are no multiples of 16
};
AttentionTiles attention_tiles(const Step& step, const AttentionAttrs& attrs);

/// Whether rows of features begin at multiples of 16 bytes, seen from the operand's start.
bool has_aligned_rows(const Layout& operand);

/// The shapes and strides of a step of attention, whose first inputs are its.
device::AttentionArguments attention_arguments(const Step& step, const AttentionAttrs& attrs);

/// A step of attention with its arguments, and its operands bound.
class AttentionStep : public StepKernel<device::AttentionArguments> {
 public:
  AttentionStep(const Step& step, const AttentionAttrs& attrs);
};

}  // namespace mlx::core::gpu
