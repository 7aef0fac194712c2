// Normalisation over the last axis, one kernel each.
#pragma once

#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

namespace fast {

/// x / sqrt(mean(x^2) + eps) * weight over the last axis (Zhang and Sennrich 2019), computed in
/// float32 for 16-bit dtypes. `weight` has shape (n,), n the length of the last axis. Throws
/// ValueError for a scalar x and for a weight of another shape.
MLX_API array rms_norm(const array& x, const std::optional<array>& weight, double eps,
                       StreamOrDevice s = {});
/// (x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last axis (Ba, Kiros and Hinton
/// 2016).
MLX_API array layer_norm(const array& x, const std::optional<array>& weight,
                         const std::optional<array>& bias, double eps, StreamOrDevice s = {});

}  // namespace fast

struct NormAttrs {
  double eps;
  bool center, has_weight, has_bias;
  template <class F>
  void each(F&& f) {
    f("eps", eps);
    f("center", center);
    f("has_weight", has_weight);
    f("has_bias", has_bias);
  }
};

/// Inputs: x, then weight and bias if the attributes say so.
extern const OpDef op_norm;

}  // namespace mlx::core
