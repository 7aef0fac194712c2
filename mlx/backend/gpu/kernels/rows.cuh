// Softmax, logsumexp and norms of rows: a few threads, a warp, or a block, have a row; several
// blocks have a long one of softmax and logsumexp. The order of a sum depends on the row's length
// and the size of its elements alone.
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
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<A, float>) {
      float r;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
      return r;
    }
#endif
    return a > b || a != a ? a : b;
  }
};

/// The values of G threads, combined; every one of them gets the result.
template <int G, class A, class F>
MLX_FN A over_group(A x, F f) {
#pragma unroll
  for (int h = (G < 32 ? G : 32) / 2; h > 0; h /= 2) x = f(x, __shfl_xor_sync(~0u, x, h));
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

/// Calls f(row, own) for the rows of the calling thread's group. All groups of a warp, which
/// shuffle, get as many calls; a group without an own row only reads.
template <int G, class F>
MLX_FN void each_row(int64_t rows, F f) {
  constexpr int groups = kThreads / G, together = G < 32 ? 32 / G : 1;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t first =
           static_cast<int64_t>(blockIdx.x) * groups + thread / (G * together) * together;
       first < rows; first += static_cast<int64_t>(gridDim.x) * groups) {
    const int64_t r = first + thread / G % together;
    f(r < rows ? r : rows - 1, r < rows);
  }
}

template <class A>
MLX_FN A exponential(A x) {
  return plain(m::exp(lane::Lane<A>(x)));
}
/// The exponential of a number that is not above 0, or NaN, for results of type T: within 2^-17 of
/// it, or of 2^-126, where T has fewer digits.
template <class T>
MLX_FN Wide<T> exponential_for(Wide<T> x) {
#ifdef __CUDACC_RTC__
  if constexpr (is_narrow<T>) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 0x1.715476p+0f));
    return r;
  }
#endif
  return exponential(x);
}

/// The elements of a row that belong to one of G threads, V neighbours at a time: kept by the
/// thread where it has at most K of them, read again where K is 0. Dense: the row's elements are
/// neighbours in memory, and pass in `V` at once where addresses allow it. Places behind the end of
/// the row hold `padding`.
template <int G, int K, class T, bool Dense = true>
struct Row {
  using A = Wide<T>;
  static constexpr int kMost = 16 / static_cast<int>(sizeof(T));
  static constexpr int V = K == 0 || K > kMost ? kMost : K, kTurns = K > 0 ? K / V : 1;
  static constexpr bool kKept = K > 0;
  DevicePointer<const T> first;  ///< of the thread
  int64_t n, stride;
  bool whole;  ///< neighbours exist and lie together
  A padding, kept[K > 0 ? K : 1];
  MLX_FN Row(DevicePointer<const T> row, int64_t n_, int64_t stride_, A padding_ = 0)
      : first(row + own_lane() * stride_),
        n(n_),
        stride(stride_),
        whole(Dense && n_ % V == 0 && reinterpret_cast<uint64_t>(row) % (sizeof(T) * V) == 0),
        padding(padding_) {
#pragma unroll
    for (int t = 0; t < (K > 0 ? kTurns : 0); ++t)
      load(t, *reinterpret_cast<A(*)[V]>(kept + t * V));
  }
  /// The row's first element that a thread has.
  static MLX_FN int own_lane() { return static_cast<int>(threadIdx.x) % G * V; }
  /// Elements from the thread's neighbours of a turn to the end of the row.
  template <class I>
  MLX_FN auto left(I turn) const {
    if constexpr (K > 0) {
      return static_cast<int>(n) - own_lane() - G * V * turn;
    } else {
      return n - own_lane() - G * V * turn;
    }
  }
  /// How far element c of a turn is from the thread's first one.
  template <class I>
  MLX_FN auto step(I turn, int c) const {
    if constexpr (Dense) {
      return G * V * turn + c;
    } else {
      return (G * V * turn + c) * stride;
    }
  }
  template <class I>
  MLX_FN void load(I turn, A (&to)[V]) const {
    if (whole) {
      Neighbours<T, V> some = {};
      if (left(turn) > 0) some = *neighbours<const Neighbours<T, V>>(first + step(turn, 0));
#pragma unroll
      for (int c = 0; c < V; ++c) to[c] = left(turn) > 0 ? wide(some.x[c]) : padding;
    } else {
#pragma unroll
      for (int c = 0; c < V; ++c) to[c] = c < left(turn) ? wide(first[step(turn, c)]) : padding;
    }
  }
  /// Calls f(x, turn) for the V neighbours of each turn, with padding.
  template <class F>
  MLX_FN void each_turn(F f) {
    if constexpr (K == 0) {
      A x[V];
      for (int64_t turn = 0; left(turn) > 0; ++turn) {
        load(turn, x);
        f(x, turn);
      }
    } else {
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn)
        f(*reinterpret_cast<A(*)[V]>(kept + turn * V), turn);
    }
  }
  /// Calls f(x) for the thread's elements, from the first to the last.
  template <class F>
  MLX_FN void each(F f) {
    const auto& own = *this;
    each_turn([&](A(&x)[V], auto turn) {
#pragma unroll
      for (int c = 0; c < V; ++c)
        if (c < own.left(turn)) f(x[c]);
    });
  }
  /// Writes f(x, element of the row) to `out`, whose layout is the row's.
  template <class F>
  MLX_FN void write(DevicePointer<T> out, F f) {
    const auto& own = *this;
    const auto to = out + own_lane() * stride;
    const bool together = whole && reinterpret_cast<uint64_t>(out) % (sizeof(T) * V) == 0;
    each_turn([&](A(&x)[V], auto turn) {
      if (together) {
        if (own.left(turn) <= 0) return;
        Neighbours<T, V> some;
#pragma unroll
        for (int c = 0; c < V; ++c)
          some.x[c] = stored<T>(f(x[c], own.own_lane() + own.step(turn, c)));
        *neighbours<Neighbours<T, V>>(to + own.step(turn, 0)) = some;
      } else {
#pragma unroll
        for (int c = 0; c < V; ++c)
          if (c < own.left(turn))
            to[own.step(turn, c)] = stored<T>(f(x[c], own.own_lane() + G * V * turn + c));
      }
    });
  }
};

/// The largest element of a row padded with -infinity, and the sum of the exponentials relative to
/// it. A kept row becomes those exponentials; another one is read once, with sums that change their
/// scale where a larger element comes.
template <int G, class T>
struct SumExp {
  using A = Wide<T>;
  static constexpr A kLeast = -__builtin_inff();
  A shift, sum;
  template <class R>
  MLX_FN explicit SumExp(R& row) {
    A top = kLeast, total = 0;
    if constexpr (R::kKept) {
      row.each_turn([&](A(&x)[R::V], int) { top = largest(top, x); });
      top = over_group<G>(top, Larger());
      row.each_turn([&](A(&x)[R::V], int) {
#pragma unroll
        for (A& e : x) {
          e = exponential_for<T>(e - top);
          total += e;
        }
      });
    } else {
      row.each_turn([&](A(&x)[R::V], int64_t) {
        const A next = largest(top, x), from = origin(next);
        A part = 0;
#pragma unroll
        for (A e : x) part += exponential_for<T>(e - from);
        total = total * exponential_for<T>(top - from) + part;
        top = next;
      });
      const A own = top;
      top = over_group<G>(own, Larger());
      total *= exponential_for<T>(own - origin(top));
    }
    shift = top;
    sum = over_group<G>(total, Add());
  }

 private:
  template <int V>
  static MLX_FN A largest(A shift, const A (&x)[V]) {
#pragma unroll
    for (A e : x) shift = Larger()(shift, e);
    return shift;
  }
  /// The number to subtract from elements of which `top` is the largest: -infinity has no
  /// difference from itself.
  static MLX_FN A origin(A top) { return top == kLeast ? A(0) : top; }
};

template <int G, int K, class T, bool Dense>
MLX_FN void softmax(const RowsArguments& p) {
  using A = Wide<T>;
  each_row<G>(p.rows, [&](int64_t r, bool own) {
    const int64_t first = Dense ? r * p.n : r / p.stride * p.n * p.stride + r % p.stride;
    Row<G, K, T, Dense> row(memory<const T>(p.in) + first, p.n, p.stride, -__builtin_inff());
    const SumExp<G, T> s(row);
    const A scale = 1 / s.sum;
    if (!own) return;
    row.write(memory<T>(p.out) + first, [&](A x, int64_t) {
      const A e = K > 0 ? x : exponential_for<T>(x - s.shift);
      return e * scale;
    });
  });
}

template <class T>
MLX_FN T log_of_sum(Wide<T> shift, Wide<T> sum) {
  const Wide<T> inf = __builtin_inff();
  const bool infinite = shift == inf || shift == -inf;
  const double log = plain(m::log(LD(static_cast<double>(sum))));
  const double y = infinite ? static_cast<double>(shift) : static_cast<double>(shift) + log;
  return stored<T>(static_cast<Wide<T>>(y));
}

template <int G, int K, class T>
MLX_FN void logsumexp(const RowsArguments& p) {
  each_row<G>(p.rows, [&](int64_t r, bool own) {
    Row<G, K, T> row(memory<const T>(p.in) + r * p.n, p.n, 1, -__builtin_inff());
    const SumExp<G, T> s(row);
    if (threadIdx.x % G != 0 || !own) return;
    memory<T>(p.out)[r] = log_of_sum<T>(s.shift, s.sum);
  });
}

// Long rows are divided into parts, each of which a block keeps.

MLX_CONSTANT int kOfPart = static_cast<int>(kRowPart) / kThreads;  // elements of a thread

/// Calls f(row, part, element of the operand) for the parts of the calling block.
template <bool Dense, class F>
MLX_FN void each_part(const RowsArguments& p, F f) {
  for (int64_t u = blockIdx.x; u < p.rows * p.parts; u += gridDim.x) {
    const int64_t r = u / p.parts, part = u - r * p.parts;
    const int64_t first = Dense ? r * p.n : r / p.stride * p.n * p.stride + r % p.stride;
    f(r, part, first + part * kRowPart * p.stride);
  }
}
/// Elements of a part.
MLX_FN int64_t part_length(const RowsArguments& p, int64_t part) {
  const int64_t left = p.n - part * kRowPart;
  return left < kRowPart ? left : kRowPart;
}

/// The largest element of each part, and the sum of the exponentials relative to it.
template <class T, bool Dense>
MLX_FN void sum_parts(const RowsArguments& p) {
  using A = Wide<T>;
  auto* partials = memory<A>(p.partials);
  each_part<Dense>(p, [&](int64_t r, int64_t part, int64_t first) {
    Row<kThreads, kOfPart, T, Dense> row(memory<const T>(p.in) + first, part_length(p, part),
                                         p.stride, -__builtin_inff());
    const SumExp<kThreads, T> s(row);
    if (threadIdx.x != 0) return;
    auto* to = partials + 2 * (r * p.parts + part);
    to[0] = s.shift;
    to[1] = s.shift == SumExp<kThreads, T>::kLeast ? A(0) : s.sum;
  });
}

/// The same of a whole row, from those of its parts.
template <class T>
struct JoinedParts {
  using A = Wide<T>;
  A shift, sum;
  MLX_FN JoinedParts(const RowsArguments& p, int64_t r) {
    constexpr A kLeast = SumExp<kThreads, T>::kLeast;
    const auto* parts = memory<const A>(p.partials) + 2 * r * p.parts;
    A top = kLeast, total = 0;
    for (int64_t k = threadIdx.x; k < p.parts; k += kThreads) top = Larger()(top, parts[2 * k]);
    top = over_group<kThreads>(top, Larger());
    for (int64_t k = threadIdx.x; k < p.parts; k += kThreads)
      if (parts[2 * k] != kLeast)
        total += parts[2 * k + 1] * exponential_for<T>(parts[2 * k] - top);
    shift = top;
    sum = over_group<kThreads>(total, Add());
  }
};

template <class T, bool Dense>
MLX_FN void softmax_of_parts(const RowsArguments& p) {
  using A = Wide<T>;
  each_part<Dense>(p, [&](int64_t r, int64_t part, int64_t first) {
    const JoinedParts<T> s(p, r);
    const A scale = 1 / s.sum;
    Row<kThreads, kOfPart, T, Dense> row(memory<const T>(p.in) + first, part_length(p, part),
                                         p.stride);
    row.write(memory<T>(p.out) + first,
              [&](A x, int64_t) { return exponential_for<T>(x - s.shift) * scale; });
  });
}

template <class T>
MLX_FN void logsumexp_of_parts(const RowsArguments& p) {
  for (int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const JoinedParts<T> s(p, r);
    if (threadIdx.x == 0) memory<T>(p.out)[r] = log_of_sum<T>(s.shift, s.sum);
  }
}

template <int G, int K, class T, bool Center>
MLX_FN void norm(const RowsArguments& p) {
  using A = Wide<T>;
  const auto* weight = memory<const T>(p.weight);
  const auto* bias = memory<const T>(p.bias);
  each_row<G>(p.rows, [&](int64_t r, bool own) {
    Row<G, K, T> row(memory<const T>(p.in) + r * p.n, p.n, 1);
    A mean = 0, square = 0;
    if constexpr (Center) {
      row.each([&](A& x) { mean += x; });
      mean = over_group<G>(mean, Add()) / static_cast<A>(p.n);
    }
    row.each([&](A& x) {
      const A y = x - mean;
      square += y * y;
    });
    square = over_group<G>(square, Add()) / static_cast<A>(p.n);
    const A scale = A(1) / static_cast<A>(::sqrt(static_cast<double>(square) + p.eps));
    if (!own) return;
    row.write(memory<T>(p.out) + r * p.n, [&](A x, int64_t i) {
      A y = (x - mean) * scale;
      if (weight) y *= wide(weight[i]);
      if (bias) y += wide(bias[i]);
      return y;
    });
  });
}

}  // namespace mlx::core::device
