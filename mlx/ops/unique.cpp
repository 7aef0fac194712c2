// Distinct elements, made of a sort: equal elements are neighbours then.
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

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

  array all = reshape(a, {n}, s);
  array order = argsort(all, 0, s);
  array sorted = take(all, order, 0, s);
  // For each sorted element how many distinct ones stand before it.
  array differs = not_equal(slice(sorted, {1}, {n}, s), slice(sorted, {0}, {n - 1}, s), s);
  array rank =
      concatenate({zeros({1}, wide, s), cumsum(astype(differs, wide, s), 0, false, true, s)}, 0, s);

  if (!given) {
    compute_for("unique", {rank, sorted, order}, "size=n gives as many results as are asked for");
    size = take(rank, -1, s).item<int64_t>() + 1;
  }

  array wanted = integer_range(0, size, 1, wide, s);
  array first = searchsorted(rank, wanted, "left", s);
  array exists = less(first, array(n, uint32), s);
  first = where(exists, first, array(0, uint32), s);
  array smallest = slice(sorted, {0}, {1}, s);
  array fill = fill_value ? astype(*fill_value, a.dtype(), s) : smallest;
  std::vector<array> out{where(exists, take(sorted, first, 0, s), fill, s)};
  if (return_index) out.push_back(take(order, first, 0, s));
  if (return_inverse) {
    array last = array(std::max<int64_t>(size, 1) - 1, wide);
    array inverse = put_along_axis(zeros({n}, wide, s), order, minimum(rank, last, s), 0, s);
    out.push_back(astype(reshape(inverse, a.shape(), s), uint32, s));
  }
  if (return_counts) {
    array count = subtract(searchsorted(rank, wanted, "right", s), first, s);
    out.push_back(astype(where(exists, count, array(0, uint32), s), int32, s));
  }
  return out;
}

}  // namespace mlx::core
