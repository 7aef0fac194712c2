// Further distributions, composed of those of random.h; and keys made of keys. Parameters broadcast
// to the shape; results have derivatives with respect to them, except discrete ones. 16-bit floats
// are computed in float32.
#pragma once

#include <optional>

#include "mlx/ops/random.h"

namespace mlx::core::random {

/// A key from a key and a number, independent of those for other numbers.
MLX_API array fold_in(const array& key, uint64_t number, StreamOrDevice s = {});

/// Density exp(-x / scale) / scale for x >= 0.
MLX_API array exponential(const Shape& shape, Dtype dtype, const array& scale,
                          const OptionalKey& key = {}, StreamOrDevice s = {});
/// Density 1 / (pi scale (1 + z^2)) with z = (x - loc) / scale.
MLX_API array cauchy(const Shape& shape, Dtype dtype, const array& loc, const array& scale,
                     const OptionalKey& key = {}, StreamOrDevice s = {});
/// Distribution function sigmoid((x - loc) / scale).
MLX_API array logistic(const Shape& shape, Dtype dtype, const array& loc, const array& scale,
                       const OptionalKey& key = {}, StreamOrDevice s = {});
/// Numbers whose logarithms are normal.
MLX_API array lognormal(const Shape& shape, Dtype dtype, const array& mean, const array& sigma,
                        const OptionalKey& key = {}, StreamOrDevice s = {});
/// Distribution function 1 - exp(-(x / scale)^2 / 2).
MLX_API array rayleigh(const Shape& shape, Dtype dtype, const array& scale,
                       const OptionalKey& key = {}, StreamOrDevice s = {});
/// Distribution function 1 - exp(-x^a).
MLX_API array weibull(const array& a, const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                      StreamOrDevice s = {});
/// Density rising from `left` to `mode` and falling to `right`.
MLX_API array triangular(const array& left, const array& mode, const array& right,
                         const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                         StreamOrDevice s = {});
/// The number of trials with success probability p until the first success.
MLX_API array geometric(const array& p, const Shape& shape, Dtype dtype,
                        const OptionalKey& key = {}, StreamOrDevice s = {});
/// -1 or 1.
MLX_API array rademacher(const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                         StreamOrDevice s = {});

/// Indices below n, drawn with or without replacement; with probabilities p of length n if given.
MLX_API array choice(int64_t n, const Shape& shape, bool replace, const std::optional<array>& p,
                     const OptionalKey& key = {}, StreamOrDevice s = {});

}  // namespace mlx::core::random
