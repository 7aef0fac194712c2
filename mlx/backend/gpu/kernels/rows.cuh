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

template <int G, class T>
struct SumExp {
  Wide<T> shift, sum;
  MLX_FN SumExp(const T* row, int64_t n, int64_t stride) : shift(-__builtin_inff()), sum(0) {
    const int lane = static_cast<int>(threadIdx.x) % G;
    for (int64_t i = lane; i < n; i += G) shift = Larger()(shift, wide(row[i * stride]));
    shift = over_group<G>(shift, Larger());
    for (int64_t i = lane; i < n; i += G) sum += exponential(wide(row[i * stride]) - shift);
    sum = over_group<G>(sum, Add());
  }
};

template <int G, class T>
MLX_FN void softmax(const RowsArguments& p) {
  const int lane = static_cast<int>(threadIdx.x) % G;
  each_row<G>(p.rows, [&](int64_t r) {
    const int64_t first = r / p.stride * p.n * p.stride + r % p.stride;
    const T* in = reinterpret_cast<const T*>(p.in) + first;
    T* out = reinterpret_cast<T*>(p.out) + first;
    const SumExp<G, T> s(in, p.n, p.stride);
    const auto scale = 1 / s.sum;
    for (int64_t i = lane; i < p.n; i += G)
      out[i * p.stride] = stored<T>(exponential(wide(in[i * p.stride]) - s.shift) * scale);
  });
}

template <int G, class T>
MLX_FN void logsumexp(const RowsArguments& p) {
  each_row<G>(p.rows, [&](int64_t r) {
    const SumExp<G, T> s(reinterpret_cast<const T*>(p.in) + r * p.n, p.n, 1);
    if (threadIdx.x % G != 0) return;
    const Wide<T> inf = __builtin_inff();
    const bool infinite = s.shift == inf || s.shift == -inf;
    const double log = plain(m::log(LD(static_cast<double>(s.sum))));
    const double y = infinite ? static_cast<double>(s.shift) : static_cast<double>(s.shift) + log;
    reinterpret_cast<T*>(p.out)[r] = stored<T>(static_cast<Wide<T>>(y));
  });
}

template <int G, class T, bool Center>
MLX_FN void norm(const RowsArguments& p) {
  using A = Wide<T>;
  const int lane = static_cast<int>(threadIdx.x) % G;
  const T* weight = reinterpret_cast<const T*>(p.weight);
  const T* bias = reinterpret_cast<const T*>(p.bias);
  each_row<G>(p.rows, [&](int64_t r) {
    const T* in = reinterpret_cast<const T*>(p.in) + r * p.n;
    T* out = reinterpret_cast<T*>(p.out) + r * p.n;
    A mean = 0, square = 0;
    if constexpr (Center) {
      for (int64_t i = lane; i < p.n; i += G) mean += wide(in[i]);
      mean = over_group<G>(mean, Add()) / static_cast<A>(p.n);
    }
    for (int64_t i = lane; i < p.n; i += G) {
      const A x = wide(in[i]) - mean;
      square += x * x;
    }
    square = over_group<G>(square, Add()) / static_cast<A>(p.n);
    const A scale = A(1) / static_cast<A>(::sqrt(static_cast<double>(square) + p.eps));
    for (int64_t i = lane; i < p.n; i += G) {
      A x = (wide(in[i]) - mean) * scale;
      if (weight) x *= wide(weight[i]);
      if (bias) x += wide(bias[i]);
      out[i] = stored<T>(x);
    }
  });
}

}  // namespace mlx::core::device
