// Counting values: into bins, by value, and whether they occur at all.
#pragma once

#include <optional>
#include <utility>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// For each element of `a` whether it is among `values` (or is not, where `invert`). NaN is not.
MLX_API array isin(const array& a, const array& values, bool invert = false, StreamOrDevice s = {});

/// How often each of 0, 1, .. occurs in a 1-D array of integers, or the sums of the `weights` that
/// stand at its places (of their dtype; counts are int32). There are as many results as the largest
/// element needs, for which `x` is computed, and at least `minlength`; or `length` ones where
/// that is given. Throws ValueError for negative numbers.
MLX_API array bincount(const array& x, const std::optional<array>& weights = {},
                       int64_t minlength = 0, std::optional<int64_t> length = {},
                       StreamOrDevice s = {});

/// Bounds of bins.
using HistogramRange = std::optional<std::pair<double, double>>;
/// How many elements of `a`, or which sum of their `weights`, fall into each of `bins` bins of
/// equal width between the smallest and the largest element or over `range`; and the bins' bounds,
/// one more. A bin contains its lower bound, the last one its upper bound too. Counts are int32;
/// `density` makes the integral 1.
MLX_API std::pair<array, array> histogram(const array& a, int bins = 10,
                                          const HistogramRange& range = {},
                                          const std::optional<array>& weights = {},
                                          bool density = false, StreamOrDevice s = {});
/// The same for the ascending bounds `edges`, 1-D.
MLX_API std::pair<array, array> histogram(const array& a, const array& edges,
                                          const std::optional<array>& weights = {},
                                          bool density = false, StreamOrDevice s = {});

/// What elements are counted by: their values, bins of about one width, or any bins.
enum class Bins : uint8_t { values, even, uneven };
/// Result i counts the elements `first` + i, or those in bin i; there are `length` results.
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

/// Inputs: elements, the bounds of the bins where there are any, and weights of the elements'
/// shape where they are not just counted.
extern const OpDef op_count;

/// Counts in int32, or sums of weights in their dtype. Values outside of bins do not count;
/// without bins, evaluation throws IndexError for them. Bounds of bins are real; for uneven bins
/// of the elements' dtype.
MLX_API array count(const array& x, const std::optional<array>& edges,
                    const std::optional<array>& weights, const CountAttrs& attrs, Stream s);

namespace rules {
Arrays count_vjp(const RuleArgs& r);
Arrays count_jvp(const RuleArgs& r);
}  // namespace rules

}  // namespace mlx::core
