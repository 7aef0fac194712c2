// Attention over keys and values, never holding all scores at once.
#pragma once

#include <optional>
#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

namespace fast {

/// softmax(scale * queries · keys^T + mask) · values for each head, summed in float32 or wider.
/// Queries have shape (B, N, T, D), keys (B, M, S, D), values (B, M, S, V), where N is a multiple
/// of M: query heads share key heads in order. The mask is "" or "causal" (query t sees keys up to
/// t + S - T), or an array that broadcasts to (B, N, T, S): bool keeps what is true, other dtypes
/// are added to the scores. `sinks`, one a query head, take part in the softmax but not in the
/// result. A row that is masked everywhere weighs all keys alike. Throws ValueError for other
/// shapes and dtypes, and where `force_fused` is asked for.
MLX_API array scaled_dot_product_attention(const array& queries, const array& keys,
                                           const array& values, double scale,
                                           const std::string& mask_mode = "",
                                           std::optional<array> mask_arr = {},
                                           const std::optional<array>& sinks = {},
                                           bool force_fused = false, StreamOrDevice s = {});

}  // namespace fast

struct AttentionAttrs {
  double scale;
  bool causal, has_mask, has_sinks;
  template <class F>
  void each(F&& f) {
    f("scale", scale);
    f("causal", causal);
    f("has_mask", has_mask);
    f("has_sinks", has_sinks);
  }
};

/// Inputs: queries, keys, values of one dtype; a mask of shape (B, N, T, S), bool or of that dtype;
/// sinks of that dtype.
extern const OpDef op_attention;

}  // namespace mlx::core
