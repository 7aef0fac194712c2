// Connectionist temporal classification: the likelihood of label sequences, summed over all their
// alignments with the steps of an input.
#pragma once

#include <optional>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

struct CtcAttrs {
  int blank;  ///< the class of no label
  template <class F>
  void each(F&& f) {
    f("blank", blank);
  }
};

/// The logarithm of zero in sums over alignments: an infinity would make NaN in differences.
inline constexpr double kCtcLeast = -1e30;

/// Inputs: log-probabilities (N, T, C) of float32 or float64; labels (N, S), the number of steps of
/// each input (N) and of labels of each target (N) in int32. A bundle of the negative
/// log-likelihoods (N), infinite where no alignment is possible, and of what their derivative
/// reads: after each step, two numbers kCtcLeast and the logarithms of the sums over the alignments
/// that end in each state, (N, T, 2 S + 3).
extern const OpDef op_ctc;
/// Inputs: the inputs of op_ctc, then its results. The derivatives of each likelihood with respect
/// to the log-probabilities, (N, T, C); 0 where no alignment is possible.
extern const OpDef op_ctc_slope;

namespace rules {
Arrays ctc_vjp(const RuleArgs& r);
Arrays ctc_jvp(const RuleArgs& r);
Batched ctc_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s);
Arrays ctc_slope_vjp(const RuleArgs& r);
Arrays ctc_slope_jvp(const RuleArgs& r);
Batched ctc_slope_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                       Stream s);
}  // namespace rules

namespace fast {

/// The negative log-likelihoods of targets (N, S) by log-probabilities (N, T, C), in float32 (or
/// wider), of shape (N): Graves et al., "Connectionist Temporal Classification" (2006). The lengths
/// are T and S unless given.
MLX_API array ctc_loss(const array& log_probs, const array& targets,
                       const std::optional<array>& input_lengths = {},
                       const std::optional<array>& target_lengths = {}, int blank = 0,
                       StreamOrDevice s = {});

}  // namespace fast

}  // namespace mlx::core
