// Scaled dot product attention, without storing all scores at once.
#pragma once

#include <optional>
#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/precision.h"

namespace mlx::core {

namespace fast {

/// softmax(scale * queries · keys^T + mask) · values for each head, summed in float32 or wider.
/// Queries have shape (B, N, T, D), keys (B, M, S, D), values (B, M, S, V); N is a multiple of M,
/// and consecutive query heads share a key head. The mask is "" or "causal" (query t attends to
/// keys up to t + S - T), or an array that broadcasts to (B, N, T, S): a bool mask selects keys,
/// other dtypes are added to the scores. `sinks`, one per query head, are additional logits of the
/// softmax that do not contribute to the result. A fully masked row weighs all keys equally.
/// Products of float32 have the precision that `matmul_precision` gives. Throws ValueError for
/// other shapes and dtypes, and for `force_fused` where no GPU has a kernel for it.
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
  Precision precision = Precision::highest;  ///< of products of float32
  template <class F>
  void each(F&& f) {
    f("scale", scale);
    f("causal", causal);
    f("has_mask", has_mask);
    f("has_sinks", has_sinks);
    f("precision", precision);
  }
};

/// Inputs: queries, keys, values of one dtype; a mask of shape (B, N, T, S), bool or of that dtype;
/// sinks of that dtype.
extern const OpDef op_attention;

/// Cotangents of the queries, keys and values, from the inputs of `op_attention` and, as the last
/// one, the cotangent of its result. Like that it stores no more than some rows of scores at once.
extern const OpDef op_attention_vjp;

}  // namespace mlx::core
