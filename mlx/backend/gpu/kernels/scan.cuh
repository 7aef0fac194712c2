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
struct Running {
  using T = typename O::T;
  using A = typename O::A;
  static MLX_FN A neutral() { return O::neutral(); }
  static MLX_FN A load(T x, int64_t position) { return O::load(x, position); }
  static MLX_FN A combine(A a, A b) { return O::combine(a, b); }
  static MLX_FN T finish(A a) { return Plain::finish<T>(a, 0); }
};

/// A product as a number of [1, 2) or so times a power of two, which does not overflow where parts
/// of the product would.
template <class T_, class R>
struct ScaledProduct {
  using T = T_;
  using Bits = std::conditional_t<sizeof(R) == 8, int64_t, int32_t>;
  static constexpr int kDigits = sizeof(R) == 8 ? 52 : 23, kBias = sizeof(R) == 8 ? 1023 : 127;
  static constexpr Bits kExponents = 2 * kBias + 1;
  struct A {
    R number;
    Bits power;
  };
  static MLX_FN A neutral() { return {R(1), 0}; }
  static MLX_FN R power_of_two(Bits e) {
    return __builtin_bit_cast(R, static_cast<Bits>((e + kBias) << kDigits));
  }
  /// The same value with a number of [1, 2), unless that is 0, infinite or NaN.
  static MLX_FN A normalised(R x, Bits power) {
    auto bits = __builtin_bit_cast(Bits, x);
    if ((bits >> kDigits & kExponents) == 0 && x != 0) {  // subnormal
      bits = __builtin_bit_cast(Bits, x * power_of_two(kDigits + 1));
      power -= kDigits + 1;
    }
    const Bits e = bits >> kDigits & kExponents;
    if (e == 0 || e == kExponents) return {x, power};
    constexpr Bits kMost = 1 << 30;
    power += e - kBias;
    power = power > kMost ? kMost : power < -kMost ? -kMost : power;
    bits += (kBias - e) << kDigits;
    return {__builtin_bit_cast(R, bits), power};
  }
  static MLX_FN A load(T x, int64_t) { return normalised(widened_to<R>(x), 0); }
  static MLX_FN A combine(A a, A b) { return normalised(a.number * b.number, a.power + b.power); }
  static MLX_FN T finish(A a) {
    constexpr Bits kLeast = 1 - kBias;  // of normal numbers
    R x = a.number;
    if (a.power > kBias) {
      x = x * power_of_two(kBias) * 2;
    } else if (a.power >= kLeast) {
      x *= power_of_two(a.power);
    } else {  // the second product rounds
      x *= power_of_two(kLeast);
      x *= power_of_two(a.power - kLeast < kLeast ? kLeast : a.power - kLeast);
    }
    return Plain::finish<T>(x, 0);
  }
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
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
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

/// The same for lines whose elements are neighbours: a warp has 32 of them, and copies parts of
/// each, as they lie, from and to shared memory. The next part is on its way while one is scanned.
template <class O>
MLX_FN void scan_rows(const ScanArguments& p) {
  using T = typename O::T;
  constexpr int kLines = 32, kWarps = kThreads / 32, kMost = sizeof(T) > 4 ? 128 / sizeof(T) : 32;
  constexpr bool kFits = kWarps * kLines * (kMost + 1) * int(sizeof(T)) <= kBlockMemory;
  constexpr int kPart = kFits ? kMost : kMost / 2, kPitch = kPart + 1;
  constexpr int kSome = kPart < 16 ? kPart : 16;  // elements that are read before one is combined
  MLX_SHARED int64_t tiles[kWarps][(kLines * kPitch * sizeof(T) + 7) / 8];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto tile = reinterpret_cast<SharedPointer<T>>(tiles[warp]);
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarps * kLines;
  for (int64_t first = (static_cast<int64_t>(blockIdx.x) * kWarps + warp) * kLines; first < p.lines;
       first += step) {
    const int lines = static_cast<int>(p.lines - first < kLines ? p.lines - first : kLines);
    // Calls f(j, x, k) for the thread's elements of the part at `i`: place in the tile, in memory.
    auto each = [&](int64_t i, auto f) {
      const int64_t at = i + lane % kPart;
      if (at >= p.n) return;
      int64_t place = (first + lane / kPart) * p.n + (p.reverse ? p.n - 1 - at : at);
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        const int line = j * (32 / kPart) + lane / kPart;
        if (line < lines) f(j, line * kPitch + lane % kPart, place);
        place += (32 / kPart) * p.n;
      }
    };
    typename O::A a = O::neutral();
    T next[kPart] = {};
    auto load = [&](int64_t i) { each(i, [&](int j, int, int64_t k) { next[j] = in[k]; }); };
    load(0);
    for (int64_t i = 0; i < p.n; i += kPart) {
      each(i, [&](int j, int x, int64_t) { tile[x] = next[j]; });
      __syncwarp();
      load(i + kPart);
      for (auto row = tile + lane * kPitch; row < tile + lane * kPitch + kPart; row += kSome) {
        T some[kSome];
#pragma unroll
        for (int k = 0; k < kSome; ++k) some[k] = row[k];
#pragma unroll
        for (int k = 0; k < kSome; ++k) {
          const typename O::A combined = O::combine(a, O::load(some[k], 0));
          row[k] = O::finish(p.inclusive ? combined : a);
          a = combined;
        }
      }
      __syncwarp();
      each(i, [&](int, int x, int64_t k) { out[k] = tile[x]; });
      __syncwarp();
    }
  }
}

/// A value of a thread some places before in the warp, of any type.
template <class A>
MLX_FN A shuffled_up(A x, int distance) {
  if constexpr (sizeof(A) < 4) {
    return static_cast<A>(__shfl_up_sync(~0u, static_cast<int>(x), distance));
  } else {
    struct Words32 {
      uint32_t w[sizeof(A) / 4];
    } words = __builtin_bit_cast(Words32, x);
#pragma unroll
    for (int k = 0; k < static_cast<int>(sizeof(A) / 4); ++k)
      words.w[k] = __shfl_up_sync(~0u, words.w[k], distance);
    return __builtin_bit_cast(A, words);
  }
}

/// The combination of the threads before the calling one, and of all.
template <class O>
MLX_FN typename O::A before_thread(typename O::A mine, typename O::A& all) {
  using A = typename O::A;
  constexpr int kWarps = kThreads / 32;
  MLX_SHARED A parts[kWarps];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  A x = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const A y = shuffled_up(x, d);
    if (lane >= d) x = O::combine(y, x);
  }
  const A beside = shuffled_up(x, 1);
  if (lane == 31) parts[warp] = x;
  __syncthreads();
  A before = O::neutral();
  all = parts[0];
  for (int w = 1; w < kWarps; ++w) {
    if (w == warp) before = all;
    all = O::combine(all, parts[w]);
  }
  __syncthreads();
  if (lane == 0) return before;
  if (warp == 0) return beside;
  return O::combine(before, beside);
}

/// The combination of a line's chunks before chunk c.
template <class O>
MLX_FN typename O::A before_chunk(DevicePointer<const typename O::A> totals, int64_t c) {
  const int64_t each = (c + kThreads - 1) / kThreads, first = threadIdx.x * each;
  typename O::A own = O::neutral(), all;
  for (int64_t k = first; k < first + each && k < c; ++k) own = O::combine(own, totals[k]);
  before_thread<O>(own, all);
  return all;
}

/// The total of each chunk, or with Write its results. Tiles pass through shared memory, where a
/// thread has neighbours.
template <class O, bool Write>
MLX_FN void scan_chunks(const ScanArguments& p) {
  using T = typename O::T;
  using A = typename O::A;
  constexpr int kEach = 8, kTile = kThreads * kEach;
  MLX_SHARED int64_t words[((kTile + kTile / 32) * sizeof(T) + 7) / 8];
  const auto staged = reinterpret_cast<SharedPointer<T>>(words);
  auto slot = [](int x) { return x + x / 32; };  // threads are in different banks
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  auto* totals = memory<A>(p.totals);
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t b = blockIdx.x; b < p.lines * p.chunks; b += gridDim.x) {
    const int64_t line = b / p.chunks, c = b % p.chunks;
    const Line at(p, line);
    A before = O::neutral(), all;
    if (Write && c > 0) before = before_chunk<O>(totals + line * p.chunks, c);
    const int64_t end = (c + 1) * p.chunk < p.n ? (c + 1) * p.chunk : p.n;
    T next[kEach] = {};
    auto load = [&](int64_t tile) {
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        const int64_t i = tile + t + k * kThreads;
        if (i < end) next[k] = in[at.first + i * at.step];
      }
    };
    load(c * p.chunk);
    for (int64_t tile = c * p.chunk; tile < end; tile += kTile) {
#pragma unroll
      for (int k = 0; k < kEach; ++k) staged[slot(t + k * kThreads)] = next[k];
      __syncthreads();
      load(tile + kTile);
      const int count = static_cast<int>(end - tile < kTile ? end - tile : kTile),
                first = t * kEach;
      T own[kEach];
      A sum = O::neutral();
#pragma unroll
      for (int k = 0; k < kEach; ++k) own[k] = staged[slot(first + k)];
#pragma unroll
      for (int k = 0; k < kEach; ++k)
        if (first + k < count) sum = O::combine(sum, O::load(own[k], 0));
      A a = before_thread<O>(sum, all);
      if constexpr (Write) {
        a = O::combine(before, a);
#pragma unroll
        for (int k = 0; k < kEach; ++k) {
          const A combined = O::combine(a, O::load(own[k], 0));
          staged[slot(first + k)] = O::finish(p.inclusive ? combined : a);
          a = combined;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kEach; ++k) {
          const int x = t + k * kThreads;
          if (x < count) out[at.first + (tile + x) * at.step] = staged[slot(x)];
        }
        __syncthreads();
      }
      before = O::combine(before, all);
    }
    if (!Write && t == 0) totals[b] = before;
  }
}

/// out[i] = in[i] + factors[i] * out[i - 1]
template <class T, class A>
MLX_FN void affine_scan(const ScanArguments& p) {
  const auto *a = memory<const T>(p.factors), *b = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
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
