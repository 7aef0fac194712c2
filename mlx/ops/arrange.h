// Functions of NumPy that join, divide, mirror and extend arrays, and index arrays of grids and
// triangles, composed of other ops.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Arrays joined along the first, second or third axis, with axes added first where they lack them;
/// column_stack takes vectors as columns.
MLX_API array vstack(const std::vector<array>& arrays, StreamOrDevice s = {});
MLX_API array hstack(const std::vector<array>& arrays, StreamOrDevice s = {});
MLX_API array dstack(const std::vector<array>& arrays, StreamOrDevice s = {});
MLX_API array column_stack(const std::vector<array>& arrays, StreamOrDevice s = {});
/// `n` parts whose lengths differ by at most one, the longer ones first.
MLX_API std::vector<array> array_split(const array& a, int64_t n, int axis = 0,
                                       StreamOrDevice s = {});

/// Order of elements reversed along the first or second axis.
MLX_API array flipud(const array& a, StreamOrDevice s = {});
MLX_API array fliplr(const array& a, StreamOrDevice s = {});
/// Turned by k quarters from the first towards the second of two axes.
MLX_API array rot90(const array& a, int k = 1, const std::pair<int, int>& axes = {0, 1},
                    StreamOrDevice s = {});
/// Values in front of the elements at these indices of an axis, and the array without the elements
/// at these indices.
MLX_API array insert(const array& a, const std::vector<int64_t>& indices, const array& values,
                     int axis, StreamOrDevice s = {});
MLX_API array remove(const array& a, const std::vector<int64_t>& indices, int axis,
                     StreamOrDevice s = {});

/// Row and column indices of the elements on and below diagonal k of an n by m matrix, and on and
/// above it. int32.
MLX_API std::vector<array> tril_indices(int64_t n, int k, int64_t m, StreamOrDevice s = {});
MLX_API std::vector<array> triu_indices(int64_t n, int k, int64_t m, StreamOrDevice s = {});
/// The index of each element along each axis of a shape, as a first axis.
MLX_API array indices(const Shape& shape, Dtype dtype, StreamOrDevice s = {});
/// Indices of a flattened array as one array for each axis, and back; in row-major order.
MLX_API std::vector<array> unravel_index(const array& index, const Shape& shape,
                                         StreamOrDevice s = {});
MLX_API array ravel_multi_index(const std::vector<array>& index, const Shape& shape,
                                StreamOrDevice s = {});
/// The flattened array on the diagonal k of a matrix.
MLX_API array diagflat(const array& a, int k = 0, StreamOrDevice s = {});
/// The first choice whose condition is true, or the default.
MLX_API array select(const std::vector<array>& conditions, const std::vector<array>& choices,
                     const array& otherwise, StreamOrDevice s = {});
/// Indices that sort by the last key, then the one before, and so on; along the last axis.
MLX_API array lexsort(const std::vector<array>& keys, int axis = -1, StreamOrDevice s = {});

/// Axis `axis` moved in front of axis `start`.
MLX_API array rollaxis(const array& a, int axis, int start = 0, StreamOrDevice s = {});
/// The flattened elements, repeated as often as needed, in another shape.
MLX_API array resize(const array& a, const Shape& shape, StreamOrDevice s = {});
/// Vectors as index arrays of a grid, each along another axis; masks become indices.
MLX_API std::vector<array> ix_(const std::vector<array>& vectors, StreamOrDevice s = {});
/// Differences of neighbours of the flattened array, with elements in front and behind.
MLX_API array ediff1d(const array& a, const std::optional<array>& end,
                      const std::optional<array>& begin, StreamOrDevice s = {});
/// True if the arrays are equal after broadcasting.
MLX_API array array_equiv(const array& a, const array& b, StreamOrDevice s = {});
/// Elements of the choices, of which `index` has the number; the numbers beyond are limited to them
/// (mode "clip") or wrap ("wrap").
MLX_API array choose(const array& index, const std::vector<array>& choices, bool wraps,
                     StreamOrDevice s = {});
/// Products of matrices (.., m, n) with vectors (.., n), and of conjugated vectors (.., m) with
/// matrices (.., m, n).
MLX_API array matvec(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array vecmat(const array& a, const array& b, StreamOrDevice s = {});

}  // namespace mlx::core
