// Counting values: into bins, by value, and whether they occur at all.
#pragma once

#include <optional>
#include <utility>

#include "mlx/core/array.h"

namespace mlx::core {

/// For each element of `a` whether it is among `values` (or is not, where `invert`). NaN is not.
array isin(const array& a, const array& values, bool invert = false, StreamOrDevice s = {});

/// How often each of 0, 1, .. occurs in a 1-D array of integers, or the sums of the `weights` that
/// stand at its places (of their dtype; counts are int32). There are as many results as the largest
/// element needs, for which `x` is computed, and at least `minlength`; or `length` ones where
/// that is given. Throws ValueError for negative numbers.
array bincount(const array& x, const std::optional<array>& weights = {}, int64_t minlength = 0,
               std::optional<int64_t> length = {}, StreamOrDevice s = {});

/// Bounds of bins.
using HistogramRange = std::optional<std::pair<double, double>>;
/// How many elements of `a`, or which sum of their `weights`, fall into each of `bins` bins of
/// equal width between the smallest and the largest element or over `range`; and the bins' bounds,
/// one more. A bin contains its lower bound, the last one its upper bound too. Counts are int32;
/// `density` makes the integral 1.
std::pair<array, array> histogram(const array& a, int bins = 10, const HistogramRange& range = {},
                                  const std::optional<array>& weights = {}, bool density = false,
                                  StreamOrDevice s = {});
/// The same for the ascending bounds `edges`, 1-D.
std::pair<array, array> histogram(const array& a, const array& edges,
                                  const std::optional<array>& weights = {}, bool density = false,
                                  StreamOrDevice s = {});

}  // namespace mlx::core
