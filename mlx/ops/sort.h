// Sorting along an axis, or of the flattened array if no axis is given; NaN is sorted last. Indices
// are uint32. Complex numbers compare by their real parts, then by their imaginary parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// In ascending order.
MLX_API array sort(const array& a, StreamOrDevice s = {});
MLX_API array sort(const array& a, int axis, StreamOrDevice s = {});
/// Indices that sort; the sort is stable.
MLX_API array argsort(const array& a, StreamOrDevice s = {});
MLX_API array argsort(const array& a, int axis, StreamOrDevice s = {});
/// Partially sorted so that element `kth` is in its sorted position, with nothing larger before it
/// and nothing smaller after it.
MLX_API array partition(const array& a, int kth, StreamOrDevice s = {});
MLX_API array partition(const array& a, int kth, int axis, StreamOrDevice s = {});
/// Indices that partition.
MLX_API array argpartition(const array& a, int kth, StreamOrDevice s = {});
MLX_API array argpartition(const array& a, int kth, int axis, StreamOrDevice s = {});
/// The k largest elements, in no particular order.
MLX_API array topk(const array& a, int k, StreamOrDevice s = {});
MLX_API array topk(const array& a, int k, int axis, StreamOrDevice s = {});

/// The distinct elements of the flattened array in ascending order: all of them (the array is
/// evaluated), or, if `size` is given, cropped to it or padded with `fill_value` (by default the
/// smallest element). NaNs are distinct from each other. Optionally followed by the index of the
/// first occurrence of each (uint32), the index of the equal distinct element for each element of
/// `a` (uint32, in the shape of `a`, clamped to the last existing one), and the count of each
/// (int32, 0 for padding). Throws ValueError for a negative size, and for an empty array that would
/// have to be padded without a `fill_value`.
MLX_API std::vector<array> unique(const array& a, std::optional<int> size,
                                  bool return_index = false, bool return_inverse = false,
                                  bool return_counts = false,
                                  const std::optional<array>& fill_value = {},
                                  StreamOrDevice s = {});

/// For each value, the index at which it would be inserted into a sorted 1-D array: before equal
/// elements for side "left", after them for "right". uint32, of the shape of `values`.
MLX_API array searchsorted(const array& sorted_sequence, const array& values,
                           const std::string& side = "left", StreamOrDevice s = {});
/// The same for a sequence that the indices `sorter` sort.
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

/// Sorted or partitioned values; indices.
extern const OpDef op_sort, op_argsort, op_searchsorted;

namespace rules {
Arrays sort_vjp(const RuleArgs& r);
Arrays sort_jvp(const RuleArgs& r);
Batched sort_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched argsort_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched searchsorted_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
