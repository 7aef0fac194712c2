// Conversion of sequences and values to the types that the search kernels support.
#include "mlx/backend/cpu/search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused.h"

namespace mlx::core::cpu {

const CountingKernels& counting_kernels() { return MLX_FOR_ISA(counting_kernels); }

Comparable::Comparable(Dtype from) : from_(from), to_(from), flip_(from == uint64) {
  if (is_inexact(from))
    to_ = from == float64 ? float64 : float32;
  else
    to_ = from.size() == 8 || from == uint32 ? int64 : int32;
  if (to_ != from && !flip_) convert_ = loaded_kernels().find_cast(from, to_);
}

const void* Comparable::read(const void* from, int64_t n, void* buffer) const {
  if (flip_) {
    const auto* x = static_cast<const uint64_t*>(from);
    auto* y = static_cast<uint64_t*>(buffer);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] ^ (uint64_t{1} << 63);
    return buffer;
  }
  if (!convert_) return from;
  const void* in[] = {from};
  convert_(in, buffer, n);
  return buffer;
}

namespace {

template <class T>
int64_t without_nan(const void* keys, int64_t n) {
  const T* k = static_cast<const T*>(keys);
  return std::partition_point(k, k + n, [](T x) { return !std::isnan(x); }) - k;
}

}  // namespace

SortedSequence::SortedSequence(const void* first, Dtype t, int64_t n, int64_t step)
    : keys_(first), all_(n), ordered_(n) {
  const Comparable comparable(t);
  const Dtype type = comparable.type();
  if (step != 1 || comparable.converts()) {
    copy_.reset(new char[static_cast<size_t>(n) * type.size()]);
    std::unique_ptr<char[]> dense;
    if (step != 1) {
      dense.reset(new char[static_cast<size_t>(n) * t.size()]);
      loaded_kernels().load_strided(dense.get(), first, step, n, t.size());
      first = dense.get();
    }
    keys_ = comparable.read(first, n, copy_.get());
    if (keys_ != copy_.get()) copy_ = std::move(dense);
  }
  const CountingKernels& kernels = counting_kernels();
  if (type == float32) {
    search_ = kernels.search_float;
    ordered_ = without_nan<float>(keys_, n);
  } else if (type == float64) {
    search_ = kernels.search_double;
    ordered_ = without_nan<double>(keys_, n);
  } else {
    search_ = type == int32 ? kernels.search_int32 : kernels.search_int64;
  }
}

}  // namespace mlx::core::cpu
