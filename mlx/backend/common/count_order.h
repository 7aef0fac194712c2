// The order in which weights of equal bins are added, which decides the bits of their sums; and the
// errors of what cannot be counted.
#pragma once

#include <algorithm>
#include <string>

#include "mlx/core/error.h"

namespace mlx::core {

/// Elements are divided into chunks, each with a table of sums. A bin has several sums in it,
/// `copies`: element i of a block of kCountBlock elements is added to sum i mod copies, and those
/// behind the last whole group to sum 0. The sums of a bin are added from first to last, then those
/// of chunks.
struct CountOrder {
  int64_t chunk, chunks;
  int copies;
};
inline constexpr int64_t kCountBlock = 1024;

/// Of n elements in `width` bins, with sums of `bytes` bytes. It depends on these alone.
inline CountOrder count_order(int64_t n, int64_t width, int64_t bytes) {
  const int64_t least = std::max({int64_t{1} << 16, 2 * width, (n + 31) / 32});
  const int64_t chunk = (least + kCountBlock - 1) / kCountBlock * kCountBlock;
  const int64_t table = width * bytes;
  // Sized to stay in the first-level cache.
  return {chunk, std::max<int64_t>(1, (n + chunk - 1) / chunk),
          table <= 2048   ? 8
          : table <= 8192 ? 4
                          : 1};
}

[[noreturn]] inline void bad_count(const std::string& element, int64_t first, int64_t length) {
  fail<IndexError>("bincount", "the element ", element, "; numbers from ", first, " to ",
                   first + length - 1, " are accepted");
}
[[noreturn]] inline void bad_bins() {
  fail("histogram",
       "elements of which some are not finite, and no range; finite elements or a range are "
       "accepted");
}

}  // namespace mlx::core
