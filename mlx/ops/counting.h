// Counting values: histograms, bincount, and membership.
#pragma once

#include <optional>
#include <utility>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// For each element of `a`, whether it occurs in `values` (with `invert`, whether it does not). NaN
/// does not occur.
MLX_API array isin(const array& a, const array& values, bool invert = false, StreamOrDevice s = {});

/// The number of occurrences of 0, 1, .. in a 1-D array of integers (int32), or the sums of the
/// corresponding `weights` (in their dtype). The result has `length` elements if given; otherwise
/// as many as the largest element requires, for which `x` is evaluated, and at least `minlength`.
/// Throws ValueError for negative numbers.
MLX_API array bincount(const array& x, const std::optional<array>& weights = {},
                       int64_t minlength = 0, std::optional<int64_t> length = {},
                       StreamOrDevice s = {});

/// Lower and upper bound of all bins.
using HistogramRange = std::optional<std::pair<double, double>>;
/// The number of elements of `a`, or the sum of their `weights`, in each of `bins` bins of equal
/// width between the smallest and the largest element or over `range`; and the bin edges, one more
/// than bins. A bin includes its lower edge; the last bin also includes its upper edge. Counts are
/// int32; `density` normalises the integral to 1.
MLX_API std::pair<array, array> histogram(const array& a, int bins = 10,
                                          const HistogramRange& range = {},
                                          const std::optional<array>& weights = {},
                                          bool density = false, StreamOrDevice s = {});
/// The same for ascending 1-D bin edges `edges`.
MLX_API std::pair<array, array> histogram(const array& a, const array& edges,
                                          const std::optional<array>& weights = {},
                                          bool density = false, StreamOrDevice s = {});

/// How elements are counted: by value, in bins of about equal width, or in any bins.
enum class Bins : uint8_t { values, even, uneven };
/// Result i counts the elements equal to `first` + i, or those in bin i; there are `length`
/// results.
struct CountAttrs {
  Bins bins;
  int64_t first, length;
  template <class F>
  void each(F&& f) {
    f("bins", bins);
    f("first", first);
    f("length", length);
  }
};

/// Inputs: elements, bin edges unless counted by value, and optionally weights of the elements'
/// shape.
extern const OpDef op_count;

/// Counts in int32, or sums of weights in their dtype. Elements outside the bins are not counted;
/// when counting by value, they throw IndexError on evaluation. Bin edges are real; for uneven bins
/// they have the elements' dtype.
MLX_API array count(const array& x, const std::optional<array>& edges,
                    const std::optional<array>& weights, const CountAttrs& attrs, Stream s);

namespace rules {
Arrays count_vjp(const RuleArgs& r);
Arrays count_jvp(const RuleArgs& r);
}  // namespace rules

}  // namespace mlx::core
