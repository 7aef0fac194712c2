// The gated delta rule: linear attention with a decaying state.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::fast {

/// For each position t (Yang et al. 2024), with a state S of shape (V, D) per value head,
///   S = g S;  S = S + beta (v - S k) k^T;  y = S q.
/// Queries and keys have shape (B, T, M, D), values (B, T, N, V) with N a multiple of M, gates (B,
/// T, N) or (B, T, N, D), beta (B, T, N). The state has shape (B, N, V, D) and is zero unless
/// given. Where the mask, of shape (B, T), is false, the state is unchanged and y is 0. Returns y,
/// of shape (B, T, N, V) and the dtype of queries, keys and values, and the final state in float32
/// (or wider), the dtype of the computation.
MLX_API std::vector<array> gated_delta_update(const array& queries, const array& keys,
                                              const array& values, const array& gates,
                                              const array& beta_,
                                              const std::optional<array>& initial_state = {},
                                              const std::optional<array>& mask = {},
                                              StreamOrDevice s = {});

}  // namespace mlx::core::fast

namespace mlx::core {

/// Inputs: queries, keys, values, gates, beta, state, of one dtype (float32 or float64), and
/// optionally a bool mask. A bundle of y and the final state.
extern const OpDef op_gated_delta;

}  // namespace mlx::core
