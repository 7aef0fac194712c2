// Reductions to neighbouring outputs, of which a thread has four, in the order of reduce.cuh.
#pragma once

#include "mlx/backend/gpu/kernels/reduce.cuh"

namespace mlx::core::device {

/// Neighbouring outputs that a thread has.
MLX_CONSTANT int kWide = 4;
template <class T>
struct alignas(kWide * sizeof(T)) Neighbors {
  T each[kWide];
};

/// The lanes `group`, `group + Groups`, .. of a block of elements of neighbouring outputs. `rows`:
/// the first element of the block, `step`: from one to the next, both counted in Neighbors.
template <class O, int Groups>
struct WideLanes {
  using T = typename O::T;
  using A = typename O::A;
  static MLX_CONSTANT int kOwn = kLanes / Groups, kEach = kBlock / kLanes;
  // As many loads on their way as fit a thread.
  static MLX_CONSTANT int kLoads = 128 / sizeof(Neighbors<T>);
  static MLX_CONSTANT int kRows = kLoads > kOwn ? kLoads / kOwn : 1;
  A lanes[kWide][kOwn];

  MLX_FN void combine(bool first, int k, Neighbors<T> x, int64_t i) {
#pragma unroll
    for (int v = 0; v < kWide; ++v) {
      const A y = O::load(x.each[v], i);
      lanes[v][k] = first ? y : append<O>(lanes[v][k], y);
    }
  }
  /// All elements of a whole block, of which the first one has the position `i`.
  MLX_FN void take(DevicePointer<const Neighbors<T>> rows, int64_t step, int group, int64_t i) {
    constexpr int kTurns = kRows < kEach ? kRows : kEach;
    rows += group * step;
    for (int row = 0; row < kEach; row += kTurns) {
      Neighbors<T> some[kTurns][kOwn];
#pragma unroll
      for (int r = 0; r < kTurns; ++r) {
#pragma unroll
        for (int k = 0; k < kOwn; ++k) some[r][k] = rows[(r * kLanes + k * Groups) * step];
      }
#pragma unroll
      for (int r = 0; r < kTurns; ++r) {
#pragma unroll
        for (int k = 0; k < kOwn; ++k)
          combine(row + r == 0, k, some[r][k], i + (row + r) * kLanes + k * Groups + group);
      }
      rows += kTurns * kLanes * step;
    }
  }
  /// The same for the first `count` elements of one.
  MLX_FN void take_some(DevicePointer<const Neighbors<T>> rows, int64_t step, int group, int64_t i,
                        int count) {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
#pragma unroll
      for (int v = 0; v < kWide; ++v) lanes[v][k] = O::neutral();
      for (int j = group + k * Groups; j < count; j += kLanes)
        combine(j < kLanes, k, rows[j * step], i + j);
    }
  }
};

/// Neighbouring outputs by fours: C threads have 4 C of them, and groups of as many threads share
/// the lanes of each block of elements. For few outputs, side by side in memory.
template <class O, class F, class Out, int C>
MLX_FN void reduce_wide_columns(const ReduceArguments& p) {
  using T = typename O::T;
  using A = typename O::A;
  constexpr int kGroups = kThreads / C, kStrip = C * kWide;
  alignas(16) MLX_SHARED unsigned char parts[2][kGroups][kStrip][sizeof(A)];
  const int thread = static_cast<int>(threadIdx.x), column = thread % C, group = thread / C;
  const int64_t strips = (p.kept_count + kStrip - 1) / kStrip;
  const int64_t step = p.reduced.strides[0] / kWide;
  int turn = 0;  // the half of `parts` that no thread reads any more
  for (int64_t unit = blockIdx.x; unit < strips * p.chunks; unit += gridDim.x) {
    const int64_t chunk = unit / strips, strip = unit % strips * kStrip;
    const int64_t own = strip + column * kWide;
    const DevicePointer<const Neighbors<T>> rows =
        memory<const Neighbors<T>>(p.in) + (own < p.kept_count ? own / kWide : int64_t{0});
    const int64_t first = chunk * p.chunk;
    const int64_t end = first + p.chunk < p.reduced_count ? first + p.chunk : p.reduced_count;
    Counter<O> counter;
    for (int64_t block = first; block < end; block += kBlock) {
      WideLanes<O, kGroups> own_lanes;
      if (end - block >= kBlock)
        own_lanes.take(rows + block * step, step, group, block);
      else
        own_lanes.take_some(rows + block * step, step, group, block, static_cast<int>(end - block));
#pragma unroll
      for (int v = 0; v < kWide; ++v) {
        halve<O>(own_lanes.lanes[v]);
        *reinterpret_cast<SharedPointer<A>>(parts[turn][group][column * kWide + v]) =
            own_lanes.lanes[v][0];
      }
      __syncthreads();
      if (thread < kStrip) {
        A all[kGroups];
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
          all[g] = *reinterpret_cast<SharedPointer<A>>(parts[turn][g][thread]);
        halve<O>(all);
        counter.push(all[0]);
      }
      turn = 1 - turn;
    }
    if (thread < kStrip && strip + thread < p.kept_count)
      deliver<O, F, Out>(p, strip + thread, chunk, counter.result());
  }
}

}  // namespace mlx::core::device
