// Counts and sums of weights by value or by bin. The elements are divided into chunks that depend
// on their number alone, each with its own table, so that results do not depend on the number of
// threads. Small tables have several copies, so that consecutive updates of one bin do not wait for
// each other. Weights are added in float64, or modulo 2^64.
#include "mlx/ops/counting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "mlx/backend/common/count_order.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/search.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kCountingBlock = kCountBlock;

/// Computes the bin index of elements. With bounds, index 0 is for elements outside of them.
class BinIndexer {
 public:
  BinIndexer(const KernelArgs& args, const CountAttrs& attrs)
      : attrs_(attrs),
        x_(args.in[0]),
        keys_(attrs.bins == Bins::values ? int64 : args.in[1].dtype()),
        type_(keys_.type()),
        convert_(x_.dtype() == type_ ? nullptr : loaded_kernels().find_cast(x_.dtype(), type_)) {
    if (attrs.bins == Bins::values) return;
    const View& edges = args.in[1];
    const int64_t n = edges.size(), size = type_.size();
    bounds_.reset(new char[(2 * n + 16) * size]);  // padded: the kernels read whole registers
    const void* lower = keys_.read(edges.data, n, bounds_.get());
    if (lower != bounds_.get()) std::memcpy(bounds_.get(), lower, n * size);
    sequence_ = std::make_unique<SortedSequence>(bounds_.get(), type_, n - 1, 1);
    if (type_ == float32) prepare<float>(n);
    if (type_ == float64) prepare<double>(n);
  }
  /// The number of bin indices.
  int64_t size() const { return attrs_.length + first(); }
  /// The bin index of the first result.
  int64_t first() const { return attrs_.bins == Bins::values ? 0 : 1; }

  void read(int64_t begin, int64_t n, uint32_t* bin_indices) const {
    alignas(64) int64_t converted[kCountingBlock];
    const void* x = x_.as<char>() + begin * x_.dtype().size();
    if (convert_) {
      convert_(&x, converted, n);
      x = converted;
    }
    if (attrs_.bins == Bins::values)
      return by_value(static_cast<const int64_t*>(x), n, bin_indices);
    if (type_ == float32)
      return by_bounds(even32_, counting_kernels().even_float, x, n, bin_indices);
    if (type_ == float64)
      return by_bounds(even64_, counting_kernels().even_double, x, n, bin_indices);
    if (x_.dtype() == uint64) x = keys_.read(x, n, converted);
    if (type_ == int32) return search<int32_t>(x, n, bin_indices);
    search<int64_t>(x, n, bin_indices);
  }

 private:
  template <class T>
  void prepare(int64_t n) {
    T *lower = reinterpret_cast<T*>(bounds_.get()), *upper = lower + n;
    std::copy(lower + 1, lower + n - 1, upper);
    upper[n - 2] = std::numeric_limits<T>::infinity();
    auto& even = [&]() -> EvenBins<T>& {
      if constexpr (sizeof(T) == 4)
        return even32_;
      else
        return even64_;
    }();
    const T high = lower[n - 1];
    if (attrs_.bins == Bins::even && !std::isfinite(high - lower[0])) bad_bins();
    even = {lower, upper, high, static_cast<T>(n - 1) / (high - lower[0]), n - 1};
  }
  void by_value(const int64_t* x, int64_t n, uint32_t* bin_indices) const {
    const auto from = static_cast<uint64_t>(attrs_.first);
    const auto length = static_cast<uint64_t>(attrs_.length);
    bool outside = false;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t place = static_cast<uint64_t>(x[i]) - from;
      outside |= place >= length;
      bin_indices[i] = static_cast<uint32_t>(place);
    }
    if (!outside) return;
    for (int64_t i = 0; i < n; ++i)
      if (static_cast<uint64_t>(x[i]) - from >= length)
        bad_count(x_.dtype() == uint64 ? std::to_string(static_cast<uint64_t>(x[i]))
                                       : std::to_string(x[i]),
                  attrs_.first, attrs_.length);
  }
  template <class T>
  void by_bounds(const EvenBins<T>& even, EvenFn<T> find, const void* x, int64_t n,
                 uint32_t* bin_indices) const {
    // Beyond these numbers of bins, computing the index in floating point has errors above one.
    constexpr int64_t kMost = sizeof(T) == 4 ? 1 << 20 : 1 << 30;
    const bool found = attrs_.bins == Bins::even && even.bins <= kMost &&
                       find(even, static_cast<const T*>(x), n, bin_indices);
    if (!found) search<T>(x, n, bin_indices);
  }
  /// Searches the lower bounds; the last bin includes its upper bound.
  template <class T>
  void search(const void* x, int64_t n, uint32_t* bin_indices) const {
    sequence_->search(x, n, true, bin_indices);
    const T last = reinterpret_cast<const T*>(bounds_.get())[attrs_.length];
    const T* v = static_cast<const T*>(x);
    for (int64_t i = 0; i < n; ++i) bin_indices[i] = v[i] <= last ? bin_indices[i] : 0;
  }

  const CountAttrs& attrs_;
  const View& x_;
  Comparable keys_;
  Dtype type_;
  TileFn convert_;
  std::unique_ptr<char[]> bounds_;  // the lower ones, followed by the upper ones
  std::unique_ptr<SortedSequence> sequence_;
  EvenBins<float> even32_;
  EvenBins<double> even64_;
};

// The accumulator of weights of type W, and a count of ones.
struct One {};
template <class W>
auto widened(W w) {
  if constexpr (is_complex(TypeToDtype<W>::value))
    return complex128_t(w.real(), w.imag());
  else if constexpr (is_floating(TypeToDtype<W>::value))
    return static_cast<double>(w);
  else
    return static_cast<uint64_t>(w);
}
[[maybe_unused]] inline uint32_t widened(One) { return 1; }
template <class W>
using Sum = decltype(widened(W{}));

template <class O, class A>
O narrowed_bound(A a) {
  if constexpr (is_complex(TypeToDtype<O>::value))
    return O(static_cast<typename O::value_type>(a.real()),
             static_cast<typename O::value_type>(a.imag()));
  else if constexpr (is_floating(TypeToDtype<O>::value) && sizeof(O) == 2)
    return O(static_cast<float>(a));
  else
    return static_cast<O>(a);
}

/// Adds n weights to a table with `Copies` sums per bin.
template <int Copies, class W>
void tally(const uint32_t* bin_indices, const W* weights, int64_t n, Sum<W>* table) {
  auto add = [&](int64_t i, int copy) {
    auto& sum = table[static_cast<int64_t>(bin_indices[i]) * Copies + copy];
    if constexpr (std::is_same_v<W, One>)
      ++sum;
    else
      sum += widened(weights[i]);
  };
  int64_t i = 0;
  for (; i + Copies <= n; i += Copies)
#pragma GCC unroll 16
    for (int copy = 0; copy < Copies; ++copy) add(i + copy, copy);
  for (; i < n; ++i) add(i, 0);
}

template <int Copies, class W>
void count_chunk(const BinIndexer& indexer, const W* weights, int64_t begin, int64_t end,
                 Sum<W>* table, Sum<W>* copies) {
  using A = Sum<W>;
  const int64_t width = indexer.size();
  A* const into = Copies == 1 ? table : copies;
  std::fill(into, into + width * Copies, A{});
  uint32_t found[kCountingBlock];
  for (int64_t i = begin; i < end; i += kCountingBlock) {
    const int64_t n = std::min(kCountingBlock, end - i);
    indexer.read(i, n, found);
    tally<Copies>(found, weights + i, n, into);
  }
  if constexpr (Copies > 1) {
    for (int64_t s = 0; s < width; ++s, copies += Copies) {
      A sum = copies[0];
      for (int k = 1; k < Copies; ++k) sum += copies[k];
      table[s] = sum;
    }
  }
}

template <class W, class O>
void count(const BinIndexer& indexer, const W* weights, int64_t n, O* out, int64_t length) {
  using A = Sum<W>;
  const int64_t width = indexer.size(), bytes = width * static_cast<int64_t>(sizeof(A));
  const CountOrder order = count_order(n, width, sizeof(A));
  const int64_t chunk = order.chunk, chunks = order.chunks;
  const int copies = order.copies;
  const Scratch memory(static_cast<size_t>(chunks * bytes));
  A* const tables = memory.get<A>();
  parallel_for(
      chunks, 1,
      [&](int64_t first, int64_t last) {
        std::unique_ptr<A[]> several(copies > 1 ? new A[width * copies] : nullptr);
        for (int64_t c = first; c < last; ++c) {
          const int64_t begin = c * chunk, end = std::min(begin + chunk, n);
          auto run = copies == 8   ? count_chunk<8, W>
                     : copies == 4 ? count_chunk<4, W>
                                   : count_chunk<1, W>;
          run(indexer, weights, begin, end, tables + c * width, several.get());
        }
      },
      2.0 * static_cast<double>(n));
  parallel_for(
      length, 1024,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const A* a = tables + indexer.first() + i;
          A sum = *a;
          for (int64_t c = 1; c < chunks; ++c) sum += a[c * width];
          out[i] = narrowed_bound<O>(sum);
        }
      },
      0.5 * static_cast<double>(length * chunks));
}

void run_count(const KernelArgs& args) {
  const auto& attrs = attrs_as<CountAttrs>(args.attrs);
  const View& out = args.out[0];
  if (attrs.length == 0) return;
  const BinIndexer indexer(args, attrs);
  const int64_t n = args.in[0].size();
  if (args.in.size() == size_t{1} + (attrs.bins != Bins::values))
    return count<One>(indexer, nullptr, n, out.as<int32_t>(), attrs.length);
  dispatch(out.dtype(), [&](auto tag) {
    using W = typename decltype(tag)::type;
    count(indexer, args.in.back().as<const W>(), n, out.as<W>(), attrs.length);
  });
}

constexpr KernelEntry kCountingKernels[] = {{.op = &op_count, .run = run_count, .contiguous = 7}};

}  // namespace

const std::span<const KernelEntry> counting_entries = kCountingKernels;

}  // namespace mlx::core::cpu
