// Distinct elements by sorting: equal elements become neighbours. Integers from a small range are
// counted instead.
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

constexpr const char* kInstead = "size=n gives as many results as are asked for";

/// Which results are requested besides the values.
struct UniqueOptions {
  bool index, inverse, counts;
};

/// Distinct integers by counting each number from the smallest to the largest; no result if the
/// range is larger than the number of elements.
std::vector<array> counted(const array& all, const Shape& shape, UniqueOptions options,
                           StreamOrDevice s) {
  const array ends = astype(stack({min(all, s), max(all, s)}, s), int64, s);
  compute_for("unique", {ends}, kInstead);
  const auto* end = ends.data<const int64_t>();
  // Also correct for uint64, whose values are read as signed.
  const uint64_t apart = static_cast<uint64_t>(end[1]) - static_cast<uint64_t>(end[0]);
  if (apart >= all.size()) return {};
  const array smallest = array(end[0], int64);
  const array counts =
      count(all, {}, {}, {Bins::values, end[0], static_cast<int64_t>(apart) + 1}, to_stream(s));
  const array present = flatnonzero(counts, s);
  std::vector<array> out{astype(add(astype(present, int64, s), smallest, s), all.dtype(), s)};
  if (options.inverse) {
    const array there = astype(not_equal(counts, constant(0, int32), s), uint32, s);
    const array rank = cumsum(there, 0, false, false, s);
    const array at = subtract(astype(all, int64, s), smallest, s);
    out.push_back(reshape(take(rank, at, 0, s), shape, s));
  }
  if (options.counts) out.push_back(take(counts, present, 0, s));
  return out;
}

/// Sorted elements, optionally their original indices, and whether each element but the first
/// differs from its predecessor.
struct Sorted {
  array values, order, differs;

  Sorted(const array& all, bool positions, StreamOrDevice s) {
    const auto n = static_cast<int64_t>(all.size());
    if (positions) order = argsort(all, 0, s);
    values = positions ? take(all, order, 0, s) : sort(all, 0, s);
    differs = not_equal(slice(values, {1}, {n}, s), slice(values, {0}, {n - 1}, s), s);
  }
  /// For each element, the number of distinct elements before it.
  array rank(Dtype t, StreamOrDevice s) const {
    return concatenate({zeros({1}, t, s), cumsum(astype(differs, t, s), 0, false, true, s)}, 0, s);
  }
  /// Ranks in the original order of the elements.
  array unsorted(const array& rank, const Shape& shape, StreamOrDevice s) const {
    return astype(
        reshape(put_along_axis(zeros(rank.shape(), rank.dtype(), s), order, rank, 0, s), shape, s),
        uint32, s);
  }
};

/// All distinct elements; evaluates.
std::vector<array> distinct(const array& all, const Shape& shape, UniqueOptions options,
                            StreamOrDevice s) {
  if (!is_inexact(all.dtype()) && !options.index)
    if (auto out = counted(all, shape, options, s); !out.empty()) return out;
  const Sorted sorted(all, options.index || options.inverse, s);
  std::vector<array> computed{sorted.values, sorted.differs};
  if (sorted.order) computed.push_back(sorted.order);
  compute_for("unique", computed, kInstead);
  const array first = flatnonzero(concatenate({ones({1}, bool_, s), sorted.differs}, 0, s), s);
  const Dtype t = first.dtype();
  std::vector<array> out{take(sorted.values, first, 0, s)};
  if (options.index) out.push_back(take(sorted.order, first, 0, s));
  if (options.inverse) out.push_back(sorted.unsorted(sorted.rank(t, s), shape, s));
  if (options.counts) {
    const array end = constant(static_cast<int64_t>(all.size()), t);
    out.push_back(astype(diff(first, 1, 0, std::nullopt, end, s), int32, s));
  }
  return out;
}

}  // namespace

std::vector<array> unique(const array& a, std::optional<int> given, bool return_index,
                          bool return_inverse, bool return_counts,
                          const std::optional<array>& fill_value, StreamOrDevice s) {
  int64_t size = given.value_or(0);
  if (size < 0) fail("unique", "size ", size, "; it must not be negative");
  const auto n = static_cast<int64_t>(a.size());
  const Dtype wide = n > std::numeric_limits<int32_t>::max() ? int64 : int32;
  if (n == 0) {
    if (size > 0 && !fill_value)
      fail("unique", "an empty array and size ", size, "; a fill_value is needed");
    std::vector<array> out{fill_value ? full({size}, *fill_value, a.dtype(), s)
                                      : zeros({0}, a.dtype(), s)};
    if (return_index) out.push_back(zeros({size}, uint32, s));
    if (return_inverse) out.push_back(zeros(a.shape(), uint32, s));
    if (return_counts) out.push_back(zeros({size}, int32, s));
    return out;
  }

  const array all = reshape(a, {n}, s);
  if (!given) return distinct(all, a.shape(), {return_index, return_inverse, return_counts}, s);

  const Sorted sorted(all, return_index || return_inverse, s);
  array rank = sorted.rank(wide, s);
  array ranks = integer_range(0, size, 1, wide, s);
  array first = searchsorted(rank, ranks, "left", s);
  array exists = less(first, array(n, uint32), s);
  first = where(exists, first, array(0, uint32), s);
  array smallest = slice(sorted.values, {0}, {1}, s);
  array fill = fill_value ? astype(*fill_value, a.dtype(), s) : smallest;
  std::vector<array> out{where(exists, take(sorted.values, first, 0, s), fill, s)};
  if (return_index) out.push_back(take(sorted.order, first, 0, s));
  if (return_inverse) {
    array last = array(std::max<int64_t>(size, 1) - 1, wide);
    out.push_back(sorted.unsorted(minimum(rank, last, s), a.shape(), s));
  }
  if (return_counts) {
    array number = subtract(searchsorted(rank, ranks, "right", s), first, s);
    out.push_back(astype(where(exists, number, array(0, uint32), s), int32, s));
  }
  return out;
}

}  // namespace mlx::core
