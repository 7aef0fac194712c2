// A step of the sums over alignments of the CTC loss, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// Logarithms of sums over the alignments that are in each of `n` states. A state is reached from
/// itself, the one in front and, where `skips` is 0 and not the logarithm of zero, the one in front
/// of that.
struct CtcStep {
  const void* before;  ///< two logarithms of zero, then a number for each state
  const void* skips;
  const void* scores;  ///< of the states at this step
  void* after;         ///< sums and scores, no less than `least`
  /// exp(sum + others + offset) of each state, where this is not null.
  void* weights;
  const void* others;
  double offset, least;
  int64_t n;
};

using CtcKernel = void (*)(const CtcStep& step);

#define MLX_CTC_TABLE(isa, ...)   \
  namespace isa {                 \
  CtcKernel find_ctc(Dtype::Val); \
  }
MLX_EACH_ISA(MLX_CTC_TABLE)
#undef MLX_CTC_TABLE

}  // namespace mlx::core::cpu
