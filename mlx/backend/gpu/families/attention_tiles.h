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

/// Rows that sixteen lanes have in kernels by lanes, of `rows` of a head: few rows leave the others
/// of a block idle.
int64_t rows_of_lanes(int64_t rows, const DeviceState& device);

inline bool narrow_or_float32(Dtype t) { return t == float16 || t == bfloat16 || t == float32; }

/// The shapes and strides of a step of attention, whose first inputs are its.
device::AttentionArguments attention_arguments(const Step& step, const AttentionAttrs& attrs);

/// Sets these, and lets a step bind them to the inputs and to its first output.
template <class T>
void bind_attention(StepKernel<T>& kernel, device::AttentionArguments& p, const Step& step,
                    const AttentionAttrs& attrs) {
  p = attention_arguments(step, attrs);
  kernel.bind(p.q, 0);
  kernel.bind(p.k, 1);
  kernel.bind(p.v, 2);
  kernel.bind(p.mask, attrs.has_mask ? 3 : -1);
  kernel.bind(p.sinks, attrs.has_sinks ? 3 + attrs.has_mask : -1);
  kernel.bind(p.out, step.n_inputs);
}

/// A step of attention with its arguments, and its operands bound.
class AttentionStep : public StepKernel<device::AttentionArguments> {
 public:
  AttentionStep(const Step& step, const AttentionAttrs& attrs);
};

}  // namespace mlx::core::gpu
