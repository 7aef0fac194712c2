// Counts of elements, and sums of their weights, by value or by bin. Counts and sums of integers do
// not depend on an order: blocks add them up at once. Sums of floats have the CPU's order.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/index.cuh"

namespace mlx::core::device {

//--- the bin of an element

MLX_CONSTANT uint32_t kNoBin = ~0u;

template <class X>
struct ByValue {
  static MLX_FN uint32_t bin(const CountArguments& p, int64_t i) {
    const auto x = static_cast<uint64_t>(memory<const X>(p.in)[i]);
    const uint64_t place = x - static_cast<uint64_t>(p.first);
    if (place < static_cast<uint64_t>(p.length)) return static_cast<uint32_t>(place);
    report(p.record, 0, static_cast<int64_t>(x));
    return kNoBin;
  }
  static MLX_FN void check(const CountArguments&) {}
};

/// Edges of type E; Even: of bins between the smallest and the largest element.
template <class X, class E, bool Even>
struct ByEdges {
  using K = std::conditional_t<is_narrow<E>, float, E>;  // the compared type
  static MLX_FN K edge(const CountArguments& p, int64_t i) {
    return cast<K>(memory<const E>(p.edges)[i]);
  }
  static MLX_FN uint32_t bin(const CountArguments& p, int64_t i) {
    const K x = cast<K>(memory<const X>(p.in)[i]);
    // How many of the lower edges are not above it.
    int64_t at = 0;
    if (p.length <= 16) {
      for (int64_t b = 0; b < p.length; ++b) at += edge(p, b) <= x ? 1 : 0;
    } else {
      int64_t length = p.length;
      for (; length > 1; length -= length / 2)
        if (edge(p, at + length / 2 - 1) <= x) at += length / 2;
      if (edge(p, at) <= x) ++at;
    }
    return at > 0 && x <= edge(p, p.length) ? static_cast<uint32_t>(at - 1) : kNoBin;
  }
  static MLX_FN void check(const CountArguments& p) {
    if constexpr (Even) {
      const K width = edge(p, p.length) - edge(p, 0);
      if (!(width - width == 0)) report(p.record, 1, 0);
    }
  }
};

//--- what is added

struct One {
  using A = uint32_t;
};
template <class T>
struct WideSum {
  using type = std::conditional_t<is_narrow<T> || std::is_floating_point_v<T>, double, uint64_t>;
};
template <class F>
struct WideSum<m::Cx<F>> {
  using type = complex128_t;
};
/// Weights of type W, in sums of type A.
template <class W_>
struct Weights {
  using W = W_;
  using A = typename WideSum<W>::type;
  static MLX_FN A load(const CountArguments& p, int64_t i) {
    const W w = memory<const W>(p.weights)[i];
    if constexpr (m::IsCx<W>::value) {
      return {static_cast<double>(w.re), static_cast<double>(w.im)};
    } else if constexpr (is_narrow<W>) {
      return widened(w);
    } else {
      return static_cast<A>(w);
    }
  }
  static MLX_FN A add(A a, A b) {
    if constexpr (m::IsCx<A>::value) {
      return m::add(a, b);
    } else {
      return a + b;
    }
  }
  static MLX_FN W result(A a) {
    if constexpr (m::IsCx<W>::value) {
      return {static_cast<decltype(W::re)>(a.re), static_cast<decltype(W::re)>(a.im)};
    } else if constexpr (is_narrow<W>) {
      return narrowed<W>(static_cast<float>(a));
    } else {
      return static_cast<W>(a);
    }
  }
};
template <>
struct Weights<One> {
  using W = int32_t;
  using A = uint32_t;
  static MLX_FN A load(const CountArguments&, int64_t) { return 1; }
  static MLX_FN A add(A a, A b) { return a + b; }
  static MLX_FN W result(A a) { return static_cast<W>(a); }
};

//--- kernels

/// Sets the sums to 0, and checks the edges.
template <class B, class S>
MLX_FN void clear_sums(const CountArguments& p) {
  using A = typename S::A;
  auto* table = memory<A>(p.table);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < p.length * p.chunks * p.copies;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    table[i] = A{};
  if (first == 0) B::check(p);
}

/// Adds up what does not depend on the order. Blocks have tables of their own where these are
/// small.
template <class B, class S>
MLX_FN void count_at_once(const CountArguments& p) {
  using A = typename S::A;
  constexpr int kSmall = 2048;
  MLX_SHARED A own[kSmall];
  auto* table = memory<A>(p.table);
  const bool small = p.length <= kSmall;
  if (small)
    for (int i = static_cast<int>(threadIdx.x); i < p.length; i += kThreads) own[i] = A{};
  __syncthreads();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const uint32_t bin = B::bin(p, i);
    if (bin == kNoBin) continue;
    if (small)
      atomic_add(own + bin, S::load(p, i));
    else
      atomic_add(table + bin, S::load(p, i));
  }
  __syncthreads();
  if (small)
    for (int i = static_cast<int>(threadIdx.x); i < p.length; i += kThreads)
      if (own[i] != 0) atomic_add(table + i, own[i]);
}

template <class B>
MLX_FN void find_bins(const CountArguments& p) {
  auto* bins = memory<uint32_t>(p.bins);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    bins[i] = B::bin(p, i);
}

/// A thread has some of the bins, of a chunk and one of its copies of the sums.
template <class S, int Block>
MLX_FN void count_in_order(const CountArguments& p) {
  using A = typename S::A;
  const auto* bins = memory<const uint32_t>(p.bins);
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       t < p.chunks * p.copies * p.parts; t += threads) {
    const int64_t part = t % p.parts, copy = t / p.parts % p.copies, c = t / p.parts / p.copies;
    auto* table = memory<A>(p.table) + c * p.length * p.copies;
    auto add = [&](int64_t i) {
      const uint32_t bin = bins[i];
      if (bin == kNoBin || static_cast<int64_t>(bin & (p.parts - 1)) != part) return;
      auto& sum = table[static_cast<int64_t>(bin) * p.copies + copy];
      sum = S::add(sum, S::load(p, i));
    };
    const int64_t end = (c + 1) * p.chunk < p.n ? (c + 1) * p.chunk : p.n;
    for (int64_t block = c * p.chunk; block < end; block += Block) {
      const int64_t some = end - block < Block ? end - block : Block;
      const int64_t whole = some / p.copies * p.copies;
      for (int64_t i = copy; i < whole; i += p.copies) add(block + i);
      for (int64_t i = whole; copy == 0 && i < some; ++i) add(block + i);
    }
  }
}

template <class S>
MLX_FN void write_counts(const CountArguments& p) {
  using A = typename S::A;
  const auto* table = memory<const A>(p.table);
  auto* out = memory<typename S::W>(p.out);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.length;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    A all{};
    for (int64_t c = 0; c < p.chunks; ++c) {
      const auto* copies = table + (c * p.length + i) * p.copies;
      A sum = copies[0];
      for (int64_t k = 1; k < p.copies; ++k) sum = S::add(sum, copies[k]);
      all = c == 0 ? sum : S::add(all, sum);
    }
    out[i] = S::result(all);
  }
}

}  // namespace mlx::core::device
