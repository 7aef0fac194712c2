// Searches for values in a sorted sequence, and bin indices, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// positions[i] = the number of the n ascending `keys` that are less than values[i]; with `right`,
/// that are not greater. `all` is n plus the number of NaNs after the keys: a NaN value is placed
/// before these or, with `right`, after them.
using SearchFn = void (*)(const void* keys, int64_t n, int64_t all, const void* values,
                          int64_t count, bool right, uint32_t* positions);

/// Bins of about equal width: bin b covers [lower[b], upper[b]); upper[bins - 1] is infinity and
/// `high` is the largest value that is counted.
template <class T>
struct EvenBins {
  const T *lower, *upper;
  T high;
  T scale;  ///< number of bins divided by `high` - lower[0]
  int64_t bins;
};
/// bin_indices[i] = 1 + the bin of values[i], or 0 if it is in no bin. Returns false if some may be
/// wrong because the bins are not even enough.
template <class T>
using EvenFn = bool (*)(const EvenBins<T>& bins, const T* values, int64_t count,
                        uint32_t* bin_indices);

struct CountingKernels {
  SearchFn search_float, search_double, search_int32, search_int64;
  EvenFn<float> even_float;
  EvenFn<double> even_double;
};

#define MLX_COUNTING_TABLE(isa, ...)             \
  namespace isa {                                \
  extern const CountingKernels counting_kernels; \
  }
MLX_EACH_ISA(MLX_COUNTING_TABLE)
#undef MLX_COUNTING_TABLE

}  // namespace mlx::core::cpu
