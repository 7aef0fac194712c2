// Convolutions as products of matrices whose elements are found in the input as they are read.
#pragma once

#include "mlx/backend/gpu/kernels/matmul.cuh"

namespace mlx::core::device {

/// The patches of a convolution; I is the type of element numbers.
template <class I>
struct Patches {
  const ConvArguments& p;
  I each;  ///< channels of a group
  MLX_FN explicit Patches(const ConvArguments& p_)
      : p(p_), each(static_cast<I>(p_.channels / p_.groups)) {}

  /// Where on an axis of the input a tap of a position reads; -1 in the padding.
  MLX_FN I source(int axis, I position, I tap) const {
    if (p.flip) tap = static_cast<I>(p.kernel[axis]) - 1 - tap;
    I at = position * static_cast<I>(p.stride[axis]) + tap * static_cast<I>(p.spread[axis]) -
           static_cast<I>(p.low[axis]);
    if (at < 0) return -1;
    if (p.input_spread[axis] != 1) {
      const I spread = static_cast<I>(p.input_spread[axis]);
      if (at % spread) return -1;
      at /= spread;
    }
    return at < static_cast<I>(p.in[axis]) ? at : -1;
  }
  /// The element of the input for a position and a place in its patch; -1 in the padding.
  MLX_FN int64_t at(int64_t position_, int64_t place_, int64_t group) const {
    I position = static_cast<I>(position_), place = static_cast<I>(place_);
    const I channel = place % each;
    place /= each;
    I offset = 0, unit = 1;
#pragma unroll
    for (int d = 2; d >= 0; --d) {
      const I length = static_cast<I>(p.length[d]), kernel = static_cast<I>(p.kernel[d]);
      const I s = source(d, position % length, place % kernel);
      if (s < 0) return -1;
      offset += s * unit;
      unit *= static_cast<I>(p.in[d]);
      position /= length;
      place /= kernel;
    }
    const int64_t pixel = static_cast<int64_t>(position) * unit + offset;
    return pixel * p.channels + group * each + channel;
  }
  MLX_FN int64_t patch() const { return p.kernel[0] * p.kernel[1] * p.kernel[2] * each; }
  MLX_FN int64_t positions() const { return p.batch * p.length[0] * p.length[1] * p.length[2]; }
};

/// Writes patches of positions as the rows of a matrix, for groups of 1; a thread has N
/// neighbouring channels.
template <class T, class I, int N>
MLX_FN void gather_patches(const ConvArguments& p) {
  struct alignas(N * sizeof(T)) Run {
    T x[N];
  };
  const Patches<I> patches(p);
  const auto* x = memory<const T>(p.x);
  auto* out = memory<Run>(p.out);
  const I of_row = static_cast<I>(patches.patch() / N);
  const int64_t all = p.count * of_row;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const I row = static_cast<I>(i) / of_row, place = (static_cast<I>(i) - row * of_row) * N;
    const int64_t at = patches.at(p.first + row, place, 0);
    out[i] = at < 0 ? Run{} : *reinterpret_cast<DevicePointer<const Run>>(x + at);
  }
}

template <class T, class A, class I>
MLX_FN void convolve(const ConvArguments& p) {
  const Patches<I> patches(p);
  const auto *x = memory<const T>(p.x), *w = memory<const T>(p.w);
  auto* out = memory<T>(p.out);
  const int64_t m = patches.positions(), n = p.features / p.groups, k = patches.patch();
  each_tile(p.groups, m, n, [&](int64_t group, int64_t row, int64_t column) {
    product_tile<A>(
        m, n, 0, k, row, column, true, true,
        [&](int64_t r, int64_t d) {
          const int64_t at = patches.at(r, d, group);
          return at < 0 ? A{} : loaded<A>(x[at]);
        },
        [&](int64_t d, int64_t s) { return loaded<A>(w[(group * n + s) * k + d]); },
        [&](int64_t r, int64_t s, A y) { out[r * p.features + group * n + s] = in_memory<T>(y); });
  });
}

/// The cotangent of the weight, or parts of it: each of some positions.
template <class T, class A, class I>
MLX_FN void convolve_weight(const ConvArguments& p) {
  const Patches<I> patches(p);
  const auto *x = memory<const T>(p.x), *y = memory<const T>(p.y);
  const int64_t positions = patches.positions(), m = p.features / p.groups, n = patches.patch();
  each_tile(p.groups * p.splits, m, n, [&](int64_t unit, int64_t row, int64_t column) {
    const int64_t group = unit / p.splits, part = unit % p.splits;
    const int64_t begin = part * p.split, rest = positions - begin;
    product_tile<A>(
        m, n, begin, begin + (rest < p.split ? rest : p.split), row, column, false, false,
        [&](int64_t r, int64_t d) { return loaded<A>(y[d * p.features + group * m + r]); },
        [&](int64_t d, int64_t s) {
          const int64_t at = patches.at(d, s, group);
          return at < 0 ? A{} : loaded<A>(x[at]);
        },
        [&](int64_t r, int64_t s, A z) {
          const int64_t to = (group * m + r) * n + s;
          if (p.splits == 1)
            memory<T>(p.out)[to] = in_memory<T>(z);
          else
            memory<A>(p.parts)[part * p.features * n + to] = z;
        });
  });
}

/// Writes `count` rows of channels as rows of N elements, with zeros behind the channels.
template <class T, class I, int N>
MLX_FN void pad_channels(const ConvArguments& p) {
  struct alignas(N * sizeof(T)) Run {
    T x[N];
  };
  const auto* x = memory<const T>(p.x);
  auto* out = memory<Run>(p.out);
  const I channels = static_cast<I>(p.channels), rows = static_cast<I>(p.count);
  for (I i = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; i < rows;
       i += static_cast<I>(gridDim.x) * kThreads) {
    Run run{};
#pragma unroll
    for (I k = 0; k < N; ++k)
      if (k < channels) run.x[k] = x[i * channels + k];
    out[i] = run;
  }
}

/// Writes a weight [groups, features, kernel.., channels] as [groups, channels, kernel..,
/// features]; `x` is read, and the counts are those of a group.
template <class T, class I>
MLX_FN void exchange_channels(const ConvArguments& p) {
  const auto* x = memory<const T>(p.x);
  auto* out = memory<T>(p.out);
  const I features = static_cast<I>(p.features / p.groups),
          channels = static_cast<I>(p.channels / p.groups),
          taps = static_cast<I>(p.kernel[0] * p.kernel[1] * p.kernel[2]),
          all = static_cast<I>(p.groups) * features * taps * channels;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const I feature = i % features, row = i / features, tap = row % taps, line = row / taps,
            channel = line % channels, group = line / channels;
    out[i] = x[((group * features + feature) * taps + tap) * channels + channel];
  }
}

template <class T, class A>
MLX_FN void add_parts(const ConvArguments& p) {
  const int64_t n = p.features * Patches<int64_t>(p).patch();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    A sum{};
    for (int64_t s = 0; s < p.splits; ++s) sum = added(sum, memory<const A>(p.parts)[s * n + i]);
    memory<T>(p.out)[i] = in_memory<T>(sum);
  }
}

}  // namespace mlx::core::device
