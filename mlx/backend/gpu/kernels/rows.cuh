// Softmax, logsumexp and norms of rows: a warp, or a block, has a row. Sums depend on its length
// alone.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

/// The type in which a row is computed.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
MLX_FN Wide<T> wide(T x) {
  if constexpr (is_narrow<T>) {
    return widened(x);
  } else {
    return x;
  }
}
template <class T>
MLX_FN T stored(Wide<T> x) {
  if constexpr (is_narrow<T>) {
    return narrowed<T>(x);
  } else {
    return x;
  }
}

struct Add {
  template <class A>
  MLX_FN A operator()(A a, A b) const {
    return a + b;
  }
};
/// NaN where there is one.
struct Larger {
  template <class A>
  MLX_FN A operator()(A a, A b) const {
    return a > b || a != a ? a : b;
  }
};

/// The values of G threads, combined; every one of them gets the result.
template <int G, class A, class F>
MLX_FN A over_group(A x, F f) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) x = f(x, __shfl_xor_sync(~0u, x, h));
  if constexpr (G > 32) {
    MLX_SHARED A parts[kThreads / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[0];
    for (int w = 1; w < G / 32; ++w) x = f(x, parts[w]);
  }
  return x;
}

/// Calls f(row) for the rows of the calling thread's group.
template <int G, class F>
MLX_FN void each_row(int64_t rows, F f) {
  constexpr int groups = kThreads / G;
  const int64_t step = static_cast<int64_t>(gridDim.x) * groups;
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * groups + threadIdx.x / G; r < rows; r += step)
    f(r);
}

template <class A>
MLX_FN A exponential(A x) {
  return plain(m::exp(lane::Lane<A>(x)));
}

/// The elements of a row that belong to one of G threads: kept by the thread where it has at most K
/// of them, read again where K is 0. Dense: they are neighbours, so that distances are constants.
template <int G, int K, class T, bool Dense = true>
struct Row {
  using A = Wide<T>;
  const T* first;  ///< of the thread
  int left;        ///< elements from there on, where they are kept
  int64_t n, stride;
  A kept[K > 0 ? K : 1];
  MLX_FN Row(const T* row, int64_t n_, int64_t stride_)
      : first(row + lane() * stride_), left(static_cast<int>(n_) - lane()), n(n_), stride(stride_) {
#pragma unroll
    for (int j = 0; j < K; ++j) kept[j] = G * j < left ? wide(first[step(j)]) : A(0);
  }
  static MLX_FN int lane() { return static_cast<int>(threadIdx.x) % G; }
  /// How far the thread's element j is from its first one.
  template <class I>
  MLX_FN auto step(I j) const {
    if constexpr (Dense) {
      return G * j;
    } else {
      return G * j * stride;
    }
  }
  /// Calls f(x, j) for the thread's elements, from the first to the last.
  template <class F>
  MLX_FN void each(F f) {
    if constexpr (K == 0) {
      int64_t j = 0;
      for (int64_t i = lane(); i < n; i += G, ++j) {
        A x = wide(first[step(j)]);
        f(x, j);
      }
    } else {
#pragma unroll
      for (int j = 0; j < K; ++j)
        if (G * j < left) f(kept[j], j);
    }
  }
};

/// The largest element of a row, and the sum of the exponentials relative to it. A kept row becomes
/// those exponentials.
template <int G, class A>
struct SumExp {
  A shift, sum;
  template <class R>
  MLX_FN explicit SumExp(R& row) : shift(-__builtin_inff()), sum(0) {
    row.each([&](A& x, int64_t) { shift = Larger()(shift, x); });
    shift = over_group<G>(shift, Larger());
    row.each([&](A& x, int64_t) {
      x = exponential(x - shift);
      sum += x;
    });
    sum = over_group<G>(sum, Add());
  }
};

template <int G, int K, class T, bool Dense>
MLX_FN void softmax(const RowsArguments& p) {
  using A = Wide<T>;
  each_row<G>(p.rows, [&](int64_t r) {
    const int64_t first = Dense ? r * p.n : r / p.stride * p.n * p.stride + r % p.stride;
    Row<G, K, T, Dense> row(reinterpret_cast<const T*>(p.in) + first, p.n, p.stride);
    const SumExp<G, A> s(row);
    const A scale = 1 / s.sum;
    T* out = reinterpret_cast<T*>(p.out) + first + row.lane() * p.stride;
    row.each([&](A& x, auto j) {
      const A e = K > 0 ? x : exponential(x - s.shift);
      out[row.step(j)] = stored<T>(e * scale);
    });
  });
}

template <int G, int K, class T>
MLX_FN void logsumexp(const RowsArguments& p) {
  each_row<G>(p.rows, [&](int64_t r) {
    Row<G, K, T> row(reinterpret_cast<const T*>(p.in) + r * p.n, p.n, 1);
    const SumExp<G, Wide<T>> s(row);
    if (threadIdx.x % G != 0) return;
    const Wide<T> inf = __builtin_inff();
    const bool infinite = s.shift == inf || s.shift == -inf;
    const double log = plain(m::log(LD(static_cast<double>(s.sum))));
    const double y = infinite ? static_cast<double>(s.shift) : static_cast<double>(s.shift) + log;
    reinterpret_cast<T*>(p.out)[r] = stored<T>(static_cast<Wide<T>>(y));
  });
}

template <int G, int K, class T, bool Center>
MLX_FN void norm(const RowsArguments& p) {
  using A = Wide<T>;
  const T* weight = reinterpret_cast<const T*>(p.weight);
  const T* bias = reinterpret_cast<const T*>(p.bias);
  each_row<G>(p.rows, [&](int64_t r) {
    Row<G, K, T> row(reinterpret_cast<const T*>(p.in) + r * p.n, p.n, 1);
    A mean = 0, square = 0;
    if constexpr (Center) {
      row.each([&](A& x, int64_t) { mean += x; });
      mean = over_group<G>(mean, Add()) / static_cast<A>(p.n);
    }
    row.each([&](A& x, int64_t) {
      const A y = x - mean;
      square += y * y;
    });
    square = over_group<G>(square, Add()) / static_cast<A>(p.n);
    const A scale = A(1) / static_cast<A>(::sqrt(static_cast<double>(square) + p.eps));
    T* out = reinterpret_cast<T*>(p.out) + r * p.n + row.lane();
    row.each([&](A& x, auto j) {
      A y = (x - mean) * scale;
      if (weight) y *= wide(weight[row.lane() + row.step(j)]);
      if (bias) y += wide(bias[row.lane() + row.step(j)]);
      out[row.step(j)] = stored<T>(y);
    });
  });
}

}  // namespace mlx::core::device
