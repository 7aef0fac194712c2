// The cross entropy loss.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::fast {

/// logsumexp(logits) - logits[target] over the last axis, in float32 (or wider): the cross entropy
/// of the softmax of the logits and integer class indices, which have the shape of the logits
/// without their last axis.
MLX_API array cross_entropy(const array& logits, const array& targets, StreamOrDevice s = {});

}  // namespace mlx::core::fast
