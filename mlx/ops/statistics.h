// Statistics of NumPy: functions that leave out NaN, quantiles, weighted means, covariances. An
// empty optional list of axes stands for all of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

using OptionalAxes = std::optional<std::vector<int>>;

/// Reductions of the elements that are no NaN. NaN where there is none, but 0 for sums and 1 for
/// products.
MLX_API array nansum(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                     StreamOrDevice s = {});
MLX_API array nanprod(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                      StreamOrDevice s = {});
MLX_API array nanmax(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                     StreamOrDevice s = {});
MLX_API array nanmin(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                     StreamOrDevice s = {});
MLX_API array nanmean(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                      StreamOrDevice s = {});
MLX_API array nanmedian(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                        StreamOrDevice s = {});
/// Variance with the divisor n - ddof, NaN where that is not positive.
MLX_API array nanvar(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                     double ddof = 0, StreamOrDevice s = {});
MLX_API array nanstd(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                     double ddof = 0, StreamOrDevice s = {});
/// The index of the largest or smallest element that is no NaN; 0 where there is none.
MLX_API array nanargmax(const array& a, std::optional<int> axis = {}, bool keepdims = false,
                        StreamOrDevice s = {});
MLX_API array nanargmin(const array& a, std::optional<int> axis = {}, bool keepdims = false,
                        StreamOrDevice s = {});
/// Cumulative sums and products in which NaN is the neutral element.
MLX_API array nancumsum(const array& a, std::optional<int> axis = {}, StreamOrDevice s = {});
MLX_API array nancumprod(const array& a, std::optional<int> axis = {}, StreamOrDevice s = {});

/// Quantiles for the probabilities `q`, whose axes come first; NaN for a `q` outside 0 to 1.
/// Between two elements, `method` says which number: "linear", "lower", "higher", "nearest",
/// "midpoint". NaN is left out if `skip_nan`, else the result is NaN.
MLX_API array quantile(const array& a, const array& q, const OptionalAxes& axes = {},
                       const std::string& method = "linear", bool keepdims = false,
                       bool skip_nan = false, StreamOrDevice s = {});

/// The difference of the largest and the smallest element.
MLX_API array ptp(const array& a, const OptionalAxes& axes = {}, bool keepdims = false,
                  StreamOrDevice s = {});
/// The mean with weights of the shape of `a`, or of the length of its one axis; and the sum of the
/// weights.
MLX_API std::pair<array, array> average(const array& a, const OptionalAxes& axes = {},
                                        const std::optional<array>& weights = {},
                                        bool keepdims = false, StreamOrDevice s = {});
/// Covariances of variables, which are rows (or columns) of observations; of those of `m` and `y`
/// together if `y` is given. The divisor is n - ddof.
MLX_API array cov(const array& m, const std::optional<array>& y = {}, bool rowvar = true,
                  double ddof = 1, StreamOrDevice s = {});
/// Covariances divided by standard deviations.
MLX_API array corrcoef(const array& m, const std::optional<array>& y = {}, bool rowvar = true,
                       StreamOrDevice s = {});

}  // namespace mlx::core
