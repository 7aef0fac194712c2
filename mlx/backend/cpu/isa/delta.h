// One head of the gated delta rule, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// Operands of one value head. Row t of q and k starts `key_row` elements after row t - 1, that of
/// v and y `value_row`, gates `gate_row` (one of `width` gates if `wide`), beta `beta_row`.
struct DeltaHead {
  const void *q, *k, *v, *gates, *beta;
  void *y, *state;  ///< the state, (values, width), is updated in place
  int64_t key_row, value_row, gate_row, beta_row;
  bool wide;
  const unsigned char* mask;  ///< one byte per position, or null
  int64_t length, width, values;
};

using DeltaKernel = void (*)(const DeltaHead& head);

#define MLX_DELTA_TABLE(isa, ...)     \
  namespace isa {                     \
  DeltaKernel find_delta(Dtype::Val); \
  }
MLX_EACH_ISA(MLX_DELTA_TABLE)
#undef MLX_DELTA_TABLE

}  // namespace mlx::core::cpu
