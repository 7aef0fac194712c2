// Sorting along an axis, or of the flattened array where no axis is given; NaN comes last.
// Positions are uint32. Complex numbers compare by their real parts, then by the imaginary ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// Ascending.
MLX_API array sort(const array& a, StreamOrDevice s = {});
MLX_API array sort(const array& a, int axis, StreamOrDevice s = {});
/// Positions that sort; equal elements keep their order.
MLX_API array argsort(const array& a, StreamOrDevice s = {});
MLX_API array argsort(const array& a, int axis, StreamOrDevice s = {});
/// Element `kth` where sorting would put it, nothing larger before it and nothing smaller behind
/// it.
MLX_API array partition(const array& a, int kth, StreamOrDevice s = {});
MLX_API array partition(const array& a, int kth, int axis, StreamOrDevice s = {});
/// Positions that partition.
MLX_API array argpartition(const array& a, int kth, StreamOrDevice s = {});
MLX_API array argpartition(const array& a, int kth, int axis, StreamOrDevice s = {});
/// The k largest elements, in no particular order.
MLX_API array topk(const array& a, int k, StreamOrDevice s = {});
MLX_API array topk(const array& a, int k, int axis, StreamOrDevice s = {});

/// The distinct elements of the flattened array in ascending order, all of them (for which the
/// array is computed) or, where `size` is given, cut to it or filled up with `fill_value` (by
/// default the smallest element); no two NaN are equal. Behind it, as asked for: the position of
/// the first of each (uint32), for each element of `a` the position of its equal (uint32, in the
/// shape of `a`, cut to the last one there is), and how many there are of each (int32, 0 for what
/// is filled up). Throws ValueError for a negative size, and for an empty array that would have to
/// be filled up without a `fill_value`.
MLX_API std::vector<array> unique(const array& a, std::optional<int> size,
                                  bool return_index = false, bool return_inverse = false,
                                  bool return_counts = false,
                                  const std::optional<array>& fill_value = {},
                                  StreamOrDevice s = {});

/// For each value the position in a sorted 1-D array where it would be inserted: before equal
/// elements for side "left", behind them for "right". uint32, of the shape of `values`.
MLX_API array searchsorted(const array& sorted_sequence, const array& values,
                           const std::string& side = "left", StreamOrDevice s = {});
/// The same for a sequence that taking the positions `sorter` sorts.
MLX_API array searchsorted(const array& sequence, const array& values, const std::string& side,
                           const array& sorter, StreamOrDevice s = {});

/// The same for several sequences: sorted (.., n) and values (.., any shape) with equal leading
/// axes and equal dtypes.
array search_rows(const array& sorted, const array& values, bool right, Stream s);

/// `kth` is -1 for a full sort.
struct SortAttrs {
  int axis;
  int64_t kth;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
    f("kth", kth);
  }
};
struct SearchSortedAttrs {
  bool right;
  template <class F>
  void each(F&& f) {
    f("right", right);
  }
};

/// Sorted or partitioned values, and positions.
extern const OpDef op_sort, op_argsort, op_searchsorted;

namespace rules {
Arrays sort_vjp(const RuleArgs& r);
Arrays sort_jvp(const RuleArgs& r);
Batched sort_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched argsort_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched searchsorted_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
