// The kernels that find values among sorted ones, compiled once per instruction set.
#pragma once

#include <stdint.h>

namespace mlx::core::cpu {

/// positions[i] = how many of the n ascending `keys` lie before values[i]; with `right`, are not
/// behind it. `all` is n and how many NaN follow the keys: a value that is NaN stands before those
/// or, with `right`, behind them.
using SearchFn = void (*)(const void* keys, int64_t n, int64_t all, const void* values,
                          int64_t count, bool right, uint32_t* positions);

/// Bins of about one width: bin b goes from lower[b] to below upper[b]; upper[bins - 1] is infinity
/// and `high` the last value that counts.
template <class T>
struct EvenBins {
  const T *lower, *upper;
  T high;
  T scale;  ///< bins over the distance of lower[0] and `high`
  int64_t bins;
};
/// slots[i] = 1 + the bin of values[i], 0 where there is none. False where some may be wrong: the
/// bins are not as even as that.
template <class T>
using EvenFn = bool (*)(const EvenBins<T>& bins, const T* values, int64_t count, uint32_t* slots);

struct CountingKernels {
  SearchFn search_float, search_double, search_int32, search_int64;
  EvenFn<float> even_float;
  EvenFn<double> even_double;
};

namespace v2 {
extern const CountingKernels counting_kernels;
}
namespace avx2 {
extern const CountingKernels counting_kernels;
}
namespace avx512 {
extern const CountingKernels counting_kernels;
}

}  // namespace mlx::core::cpu
