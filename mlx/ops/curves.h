// Functions of NumPy on sampled curves and polynomials, composed of other ops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Numbers whose logarithms, or ratios, are evenly spaced.
MLX_API array logspace(double start, double stop, int num, bool endpoint, double base, Dtype dtype,
                       StreamOrDevice s = {});
MLX_API array geomspace(double start, double stop, int num, bool endpoint, Dtype dtype,
                        StreamOrDevice s = {});

/// Piecewise linear interpolation at x of the points (xp, fp), 1-D, for ascending xp; `left` and
/// `right` are the values beyond, by default those of the first and the last point.
MLX_API array interp(const array& x, const array& xp, const array& fp,
                     const std::optional<array>& left = {}, const std::optional<array>& right = {},
                     StreamOrDevice s = {});
/// Differences of neighbours on both sides divided by the distance, and of one side at the ends,
/// along an axis; by a spacing, or at the positions `x` of the elements.
MLX_API array gradient(const array& f, const array& spacing, int axis, StreamOrDevice s = {});
/// The integral by the trapezoidal rule along an axis, at positions x or with a distance.
MLX_API array trapezoid(const array& y, const std::optional<array>& x, double dx, int axis,
                        StreamOrDevice s = {});
/// Jumps of more than `discont`, by default half of a period, brought below it by adding periods.
MLX_API array unwrap(const array& p, std::optional<double> discont, int axis, double period,
                     StreamOrDevice s = {});

/// The polynomial with coefficients p, the highest power first, at x.
MLX_API array polyval(const array& p, const array& x, StreamOrDevice s = {});
/// Coefficients of the least squares polynomial of a degree through 1-D points.
MLX_API array polyfit(const array& x, const array& y, int degree, const std::optional<array>& w,
                      StreamOrDevice s = {});
/// Powers of a vector as columns, descending unless `increasing`.
MLX_API array vander(const array& x, std::optional<int64_t> n, bool increasing,
                     StreamOrDevice s = {});
/// The sum of conj(a) * b of the flattened arrays.
MLX_API array vdot(const array& a, const array& b, StreamOrDevice s = {});
/// For each element, the number of the bin between 1-D edges, which ascend or descend.
MLX_API array digitize(const array& x, const array& bins, bool right, StreamOrDevice s = {});

/// Sums of products of a and the conjugate of v, moved along it: mode "valid", "same" or "full".
MLX_API array correlate(const array& a, const array& v, const std::string& mode,
                        StreamOrDevice s = {});
/// Kaiser's window of m points.
MLX_API array kaiser(int m, double beta, StreamOrDevice s = {});
/// The number of points, or the sum of their weights, in each cell of a grid. Each coordinate has
/// a vector, and ascending edges; the last cell along an axis includes its upper edge.
MLX_API array histogramdd(const std::vector<array>& points, const std::vector<array>& edges,
                          const std::optional<array>& weights, bool density, StreamOrDevice s = {});

}  // namespace mlx::core
