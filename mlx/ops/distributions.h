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

/// Density x^(a - 1) exp(-x / scale) / (gamma(a) scale^a) for x > 0, and the logarithm of such
/// numbers with scale 1. The derivative with respect to `a` is that at a fixed value of the
/// distribution function.
MLX_API array gamma(const array& a, const Shape& shape, Dtype dtype, const array& scale,
                    const OptionalKey& key = {}, StreamOrDevice s = {});
MLX_API array loggamma(const array& a, const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                       StreamOrDevice s = {});
/// Density x^(a - 1) (1 - x)^(b - 1) / beta(a, b) between 0 and 1.
MLX_API array beta(const array& a, const array& b, const Shape& shape, Dtype dtype,
                   const OptionalKey& key = {}, StreamOrDevice s = {});
/// Vectors of positive numbers that sum to 1, with concentrations along the last axis of `alpha`;
/// `shape` is that of the result without this axis.
MLX_API array dirichlet(const array& alpha, const Shape& shape, Dtype dtype,
                        const OptionalKey& key = {}, StreamOrDevice s = {});
/// Sums of the squares of `df` normal numbers.
MLX_API array chisquare(const array& df, const Shape& shape, Dtype dtype,
                        const OptionalKey& key = {}, StreamOrDevice s = {});
/// Student's t: normal numbers divided by the root of chisquare(df) / df.
MLX_API array student_t(const array& df, const Shape& shape, Dtype dtype,
                        const OptionalKey& key = {}, StreamOrDevice s = {});
/// Ratios of chisquare(dfnum) / dfnum and chisquare(dfden) / dfden.
MLX_API array f(const array& dfnum, const array& dfden, const Shape& shape, Dtype dtype,
                const OptionalKey& key = {}, StreamOrDevice s = {});
/// Distribution function 1 - x^-a for x >= 1.
MLX_API array pareto(const array& a, const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                     StreamOrDevice s = {});
/// Angles in [-pi, pi] around `mu`; uniform for kappa = 0, concentrated for large ones.
MLX_API array vonmises(const array& mu, const array& kappa, const Shape& shape, Dtype dtype,
                       const OptionalKey& key = {}, StreamOrDevice s = {});
/// Inverse Gaussian numbers.
MLX_API array wald(const array& mean, const array& scale, const Shape& shape, Dtype dtype,
                   const OptionalKey& key = {}, StreamOrDevice s = {});
/// Density proportional to exp(-|x|^p).
MLX_API array generalized_normal(const array& p, const Shape& shape, Dtype dtype,
                                 const OptionalKey& key = {}, StreamOrDevice s = {});
/// Density z^2 exp(-z^2 / 2) / sqrt(2 pi) / scale with z = (x - loc) / scale.
MLX_API array double_sided_maxwell(const array& loc, const array& scale, const Shape& shape,
                                   Dtype dtype, const OptionalKey& key = {}, StreamOrDevice s = {});
/// Points of `d` coordinates in the unit ball of the norm of order p; `shape` lacks the last axis.
MLX_API array ball(int64_t d, double p, const Shape& shape, Dtype dtype,
                   const OptionalKey& key = {}, StreamOrDevice s = {});
/// Orthogonal matrices (unitary for complex dtypes) of the uniform distribution.
MLX_API array orthogonal(int64_t n, const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                         StreamOrDevice s = {});

/// The number of events of a rate; -1 where it is negative or NaN.
MLX_API array poisson(const array& lam, const Shape& shape, Dtype dtype,
                      const OptionalKey& key = {}, StreamOrDevice s = {});
/// The number of successes of `n` trials with probability `p`; -1 for parameters out of range.
MLX_API array binomial(const array& n, const array& p, const Shape& shape, Dtype dtype,
                       const OptionalKey& key = {}, StreamOrDevice s = {});
/// The number of failures before `n` successes with probability `p`.
MLX_API array negative_binomial(const array& n, const array& p, const Shape& shape, Dtype dtype,
                                const OptionalKey& key = {}, StreamOrDevice s = {});
/// How often each result occurs in `n` trials, with probabilities along the last axis of `p`;
/// `shape` is that of the result without this axis.
MLX_API array multinomial(const array& n, const array& p, const Shape& shape, Dtype dtype,
                          const OptionalKey& key = {}, StreamOrDevice s = {});

}  // namespace mlx::core::random
