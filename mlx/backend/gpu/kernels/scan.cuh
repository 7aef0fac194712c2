// Scans: a thread has a line, which it combines from first to last; where lines are few, blocks
// have chunks of them, which start from the combination of the totals before.
#pragma once

#include "mlx/backend/gpu/kernels/reduce.cuh"

namespace mlx::core::device {

/// The largest value so far, and the sum of exponentials relative to it.
template <class T_, class R>
struct LogSumExp {
  using T = T_;
  struct A {
    R max;
    double sum;
  };
  static MLX_FN A neutral() { return {-__builtin_inff(), 0}; }
  static MLX_FN A load(T x, int64_t) { return {widened_to<R>(x), 1}; }
  static MLX_FN double power(R x) { return plain(m::exp(lane::Lane<R>(x))); }
  static MLX_FN A combine(A a, A b) {
    if (b.max > a.max) return {b.max, a.sum * power(a.max - b.max) + b.sum};
    return {a.max, a.sum + b.sum * (b.max == a.max ? 1 : power(b.max - a.max))};
  }
  static MLX_FN T finish(A a) {
    const R x = static_cast<R>(static_cast<double>(a.max) + plain(m::log(LD(a.sum))));
    return Plain::finish<T>(x, 0);
  }
};
template <class T_, class F>
struct LogSumExp<T_, m::Cx<F>> {
  using T = T_;
  struct A {
    F max;
    double re, im;
  };
  static MLX_FN A neutral() { return {-__builtin_inff(), 0, 0}; }
  static MLX_FN A load(T x, int64_t) {
    const double angle = static_cast<double>(x.im);
    return {x.re, __builtin_cos(angle), __builtin_sin(angle)};
  }
  static MLX_FN double power(F x, F max) {
    return x == max ? 1 : __builtin_exp(static_cast<double>(x) - static_cast<double>(max));
  }
  static MLX_FN A combine(A a, A b) {
    const F max = b.max > a.max ? b.max : a.max;
    const double left = power(a.max, max), right = power(b.max, max);
    return {max, a.re * left + b.re * right, a.im * left + b.im * right};
  }
  static MLX_FN T finish(A a) {
    return {static_cast<F>(static_cast<double>(a.max) + __builtin_log(__builtin_hypot(a.re, a.im))),
            static_cast<F>(__builtin_atan2(a.im, a.re))};
  }
};

/// A reduction's way to combine, whose accumulators are results.
template <class O>
struct Running : O {
  using T = typename O::T;
  static MLX_FN T finish(typename O::A a) { return Plain::finish<T>(a, 0); }
};

/// Where a line begins in the order of its scan, and the distance of its elements.
struct Line {
  int64_t first, step;
  MLX_FN Line(const ScanArguments& p, int64_t line)
      : first(line / p.stride * p.n * p.stride + line % p.stride), step(p.stride) {
    if (!p.reverse) return;
    first += (p.n - 1) * step;
    step = -step;
  }
};

template <class O>
MLX_FN void scan_lines(const ScanArguments& p) {
  using T = typename O::T;
  const T* in = reinterpret_cast<const T*>(p.in);
  T* out = reinterpret_cast<T*>(p.out);
  for (int64_t l = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; l < p.lines;
       l += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Line at(p, l);
    typename O::A a = O::neutral();
    for (int64_t i = 0; i < p.n; ++i) {
      const int64_t k = at.first + i * at.step;
      const typename O::A next = O::combine(a, O::load(in[k], 0));
      out[k] = O::finish(p.inclusive ? next : a);
      a = next;
    }
  }
}

/// The same for lines whose elements are neighbours, a warp's at a time: blocks copy parts of them,
/// as they lie, from and to shared memory.
template <class O>
MLX_FN void scan_rows(const ScanArguments& p) {
  using T = typename O::T;
  constexpr int kLines = 32, kPart = 64, kPitch = kPart + 1;
  MLX_SHARED int64_t memory[(kLines * kPitch * sizeof(T) + 7) / 8];
  T* tile = reinterpret_cast<T*>(memory);
  const T* in = reinterpret_cast<const T*>(p.in);
  T* out = reinterpret_cast<T*>(p.out);
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kLines; first < p.lines;
       first += static_cast<int64_t>(gridDim.x) * kLines) {
    typename O::A a = O::neutral();
    for (int64_t i = 0; i < p.n; i += kPart) {
      auto each = [&](auto f) {
        for (int x = t; x < kLines * kPart; x += kThreads) {
          const int64_t line = first + x / kPart, k = i + x % kPart;
          if (line >= p.lines || k >= p.n) continue;
          const Line at(p, line);
          f(tile[x / kPart * kPitch + x % kPart], at.first + k * at.step);
        }
      };
      each([&](T& here, int64_t k) { here = in[k]; });
      __syncthreads();
      if (t < kLines)
        for (int k = 0; k < kPart; ++k) {
          T& here = tile[t * kPitch + k];
          const typename O::A next = O::combine(a, O::load(here, 0));
          here = O::finish(p.inclusive ? next : a);
          a = next;
        }
      __syncthreads();
      each([&](T& here, int64_t k) { out[k] = here; });
      __syncthreads();
    }
  }
}

/// The combination of the threads before the calling one, and of all.
template <class O>
MLX_FN typename O::A before_thread(typename O::A mine, typename O::A& all) {
  using A = typename O::A;
  MLX_SHARED A parts[2][kThreads];
  const int t = static_cast<int>(threadIdx.x);
  int now = 0;
  parts[0][t] = mine;
  __syncthreads();
  for (int d = 1; d < kThreads; d *= 2, now ^= 1) {
    parts[now ^ 1][t] = t >= d ? O::combine(parts[now][t - d], parts[now][t]) : parts[now][t];
    __syncthreads();
  }
  const A before = t ? parts[now][t - 1] : O::neutral();
  all = parts[now][kThreads - 1];
  __syncthreads();
  return before;
}

/// The total of each chunk, or with Write its results.
template <class O, bool Write>
MLX_FN void scan_chunks(const ScanArguments& p) {
  using T = typename O::T;
  using A = typename O::A;
  constexpr int kEach = 4;
  const T* in = reinterpret_cast<const T*>(p.in);
  T* out = reinterpret_cast<T*>(p.out);
  A* totals = reinterpret_cast<A*>(p.totals);
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t b = blockIdx.x; b < p.lines * p.chunks; b += gridDim.x) {
    const int64_t line = b / p.chunks, c = b % p.chunks;
    const Line at(p, line);
    A before = O::neutral(), all;
    if (Write && p.chunks > 1)
      before_thread<O>(t < c ? totals[line * p.chunks + t] : O::neutral(), before);
    const int64_t end = (c + 1) * p.chunk < p.n ? (c + 1) * p.chunk : p.n;
    for (int64_t tile = c * p.chunk; tile < end; tile += kThreads * kEach) {
      const int64_t first = tile + t * kEach;
      A own = O::neutral();
      for (int k = 0; k < kEach && first + k < end; ++k)
        own = O::combine(own, O::load(in[at.first + (first + k) * at.step], 0));
      A a = before_thread<O>(own, all);
      if constexpr (Write) {
        a = O::combine(before, a);
        for (int k = 0; k < kEach && first + k < end; ++k) {
          const int64_t i = at.first + (first + k) * at.step;
          const A next = O::combine(a, O::load(in[i], 0));
          out[i] = O::finish(p.inclusive ? next : a);
          a = next;
        }
      }
      before = O::combine(before, all);
    }
    if (!Write && t == 0) totals[b] = before;
  }
}

/// out[i] = in[i] + factors[i] * out[i - 1]
template <class T, class A>
MLX_FN void affine_scan(const ScanArguments& p) {
  const T *a = reinterpret_cast<const T*>(p.factors), *b = reinterpret_cast<const T*>(p.in);
  T* out = reinterpret_cast<T*>(p.out);
  for (int64_t l = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; l < p.lines;
       l += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Line at(p, l);
    A state{};
    for (int64_t i = 0; i < p.n; ++i) {
      const int64_t k = at.first + i * at.step;
      state = Sum<T, A>::combine(widened_to<A>(b[k]),
                                 Product<T, A>::combine(widened_to<A>(a[k]), state));
      out[k] = Plain::finish<T>(state, 0);
    }
  }
}

}  // namespace mlx::core::device
