// Reductions whose threads read N neighbours at once, in the order of reduce.cuh.
#pragma once

#include "mlx/backend/gpu/kernels/reduce.cuh"

namespace mlx::core::device {

/// From an array. A source of vectors fetches what element `i` and its neighbours are made of, as
/// neighbours in memory: later elements of an output, or the same element of later outputs.
template <class T, int N, bool One>
struct VectorsFromMemory {
  using Fetched = Neighbours<T, N>;
  static MLX_CONSTANT int kFetches = 128 / sizeof(Fetched);  // on their way at once
  const Axes& reduced;
  const DevicePointer<const T> first;
  MLX_FN VectorsFromMemory(const ReduceArguments& p, int64_t output)
      : reduced(p.reduced), first(memory<const T>(p.in) + offset_of(p.kept, output)) {}
  MLX_FN Fetched fetch(int64_t i) const {
    return *neighbours<const Fetched>(first + reduced_offset<One>(reduced, i));
  }
  MLX_FN T value(const Fetched& x, int j) const { return x.x[j]; }
};

//--- neighbours are elements of one output

/// N neighbouring lanes of a block of elements.
template <class O, int N>
struct LaneVector {
  using A = typename O::A;
  static MLX_CONSTANT int kEach = kBlock / kLanes;
  A lanes[N];

  template <class Source>
  MLX_FN void combine(bool first, const Source& source, const typename Source::Fetched& x,
                      int64_t i) {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      const A y = O::load(source.value(x, v), i + v);
      lanes[v] = first ? y : append<O>(lanes[v], y);
    }
  }
  /// Takes a whole block; the first one of the lanes begins with element `i`.
  template <class Source>
  MLX_FN void take(const Source& source, int64_t i) {
    constexpr int kTurns = Source::kFetches < kEach ? Source::kFetches : kEach;
    typename Source::Fetched some[kTurns];
#pragma unroll
    for (int r = 0; r < kTurns; ++r) some[r] = source.fetch(i + r * kLanes);
#pragma unroll
    for (int r = 0; r < kTurns; ++r) combine(r == 0, source, some[r], i + r * kLanes);
#pragma unroll 1
    for (int row = kTurns; row < kEach; row += kTurns) {
      const int64_t at = i + row * kLanes;
#pragma unroll
      for (int r = 0; r < kTurns; ++r) some[r] = source.fetch(at + r * kLanes);
#pragma unroll
      for (int r = 0; r < kTurns; ++r) combine(false, source, some[r], at + r * kLanes);
    }
  }
  /// The same of a block that ends at `end`, a multiple of N.
  template <class Source>
  MLX_FN void take_some(const Source& source, int64_t i, int64_t end) {
#pragma unroll
    for (int v = 0; v < N; ++v) lanes[v] = O::neutral();
    if (i >= end) return;
    typename Source::Fetched x = source.fetch(i);
    combine(true, source, x, i);
#pragma unroll 1
    for (int64_t at = i + kLanes; at < end; at += kLanes) {
      x = source.fetch(at);
      combine(false, source, x, at);
    }
  }
};

/// 32 / N threads for each block of elements, and S such groups for each output and chunk: a warp
/// has N / S of these.
template <class O, class F, class Out, class Source, int N, int S, class Arguments>
MLX_FN void reduce_vector_rows(const Arguments& p) {
  using A = typename O::A;
  constexpr int kMembers = kLanes / N, kOutputs = N / S, kWarps = kThreads / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int member = lane % kMembers, group = lane / kMembers, part = group % S;
  const int64_t tiles = p.kept_count * p.chunks;
  for (int64_t tile = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kLanes) * kOutputs;
       tile < tiles; tile += static_cast<int64_t>(gridDim.x) * kWarps * kOutputs) {
    const int64_t wanted = tile + group / S, own = wanted < tiles ? wanted : tiles - 1;
    const int64_t output = own / p.chunks, chunk = own % p.chunks;
    const Source source(p, output);
    const int64_t first = chunk * p.chunk;
    const int64_t end = first + p.chunk < p.reduced_count ? first + p.chunk : p.reduced_count;
    Counter<O> counter;
    // As often for all threads of a warp, which shuffle.
    for (int64_t at = first; at < first + p.chunk; at += S * kBlock) {
      const int64_t block = at + part * kBlock;
      LaneVector<O, N> own_lanes;
      if (end - block >= kBlock)
        own_lanes.take(source, block + member * N);
      else
        own_lanes.take_some(source, block + member * N, end);
#pragma unroll
      for (int h = kMembers / 2; h > 0; h /= 2) {
#pragma unroll
        for (int v = 0; v < N; ++v)
          own_lanes.lanes[v] = O::combine(own_lanes.lanes[v], shuffled_down(own_lanes.lanes[v], h));
      }
      halve<O>(own_lanes.lanes);
      // Blocks combine as the binary counter carries; absent ones do not.
      A x = own_lanes.lanes[0];
#pragma unroll
      for (int h = 1; h < S; h *= 2) {
        const A y = shuffled_down(x, h * kMembers);
        if (part % (2 * h) == 0 && block + h * kBlock < end) x = O::combine(x, y);
      }
      if (member == 0 && part == 0 && at < end) counter.push(x);
    }
    if (member == 0 && part == 0 && wanted < tiles)
      deliver<O, F, Out>(p, output, chunk, counter.result());
  }
}

//--- neighbours are outputs

/// The lanes `group`, `group + Groups`, .. of a block of elements of N neighbouring outputs.
template <class O, int N, int Groups>
struct OutputVector {
  using A = typename O::A;
  static MLX_CONSTANT int kOwn = kLanes / Groups, kEach = kBlock / kLanes;
  A lanes[N][kOwn];

  template <class Source>
  MLX_FN void combine(bool first, int k, const Source& source, const typename Source::Fetched& x,
                      int64_t i) {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      const A y = O::load(source.value(x, v), i);
      lanes[v][k] = first ? y : append<O>(lanes[v][k], y);
    }
  }
  /// All elements of a whole block, of which the first one has the position `i`.
  template <class Source>
  MLX_FN void take(const Source& source, int group, int64_t i) {
    constexpr int kRows = Source::kFetches > kOwn ? Source::kFetches / kOwn : 1;
    constexpr int kTurns = kRows < kEach ? kRows : kEach;
    i += group;
    for (int row = 0; row < kEach; row += kTurns) {
      typename Source::Fetched some[kTurns][kOwn];
#pragma unroll
      for (int r = 0; r < kTurns; ++r) {
#pragma unroll
        for (int k = 0; k < kOwn; ++k)
          some[r][k] = source.fetch(i + (row + r) * kLanes + k * Groups);
      }
#pragma unroll
      for (int r = 0; r < kTurns; ++r) {
#pragma unroll
        for (int k = 0; k < kOwn; ++k)
          combine(row + r == 0, k, source, some[r][k], i + (row + r) * kLanes + k * Groups);
      }
    }
  }
  /// The same for the first `count` elements of one.
  template <class Source>
  MLX_FN void take_some(const Source& source, int group, int64_t i, int count) {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
#pragma unroll
      for (int v = 0; v < N; ++v) lanes[v][k] = O::neutral();
      for (int j = group + k * Groups; j < count; j += kLanes) {
        const typename Source::Fetched x = source.fetch(i + j);
        combine(j < kLanes, k, source, x, i + j);
      }
    }
  }
};

/// A thread for V neighbouring outputs, of N elements each.
template <class O, class F, class Out, class Source, int V, int N, class Arguments>
MLX_FN void reduce_vector_few(const Arguments& p) {
  using Results = Neighbours<Out, V>;
  const auto out = memory<Out>(p.out);
  const bool whole = reinterpret_cast<uint64_t>(out) % sizeof(Results) == 0;
  for (int64_t output = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * V;
       output < p.kept_count; output += static_cast<int64_t>(gridDim.x) * kThreads * V) {
    const Source source(p, output);
    typename Source::Fetched some[N];
#pragma unroll
    for (int l = 0; l < N; ++l) some[l] = source.fetch(l);
    Results results;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      decltype(source.value(some[0], v)) own[N];
#pragma unroll
      for (int l = 0; l < N; ++l) own[l] = source.value(some[l], v);
      results.x[v] = of_few<O, F, Out>(own);
    }
    if (whole) {
      *neighbours<Results>(out + output) = results;
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) out[output + v] = results.x[v];
    }
  }
}

/// C threads have N neighbouring outputs each, and groups of as many threads share the lanes of
/// each block of elements. For few outputs.
template <class O, class F, class Out, class Source, int N, int C, class Arguments>
MLX_FN void reduce_vector_columns(const Arguments& p) {
  using A = typename O::A;
  constexpr int kGroups = kThreads / C, kStrip = C * N;
  alignas(16) MLX_SHARED unsigned char parts[2][kGroups][kStrip][sizeof(A)];
  const int thread = static_cast<int>(threadIdx.x), column = thread % C, group = thread / C;
  const int64_t strips = (p.kept_count + kStrip - 1) / kStrip;
  int turn = 0;  // the half of `parts` that no thread reads any more
  for (int64_t unit = blockIdx.x; unit < strips * p.chunks; unit += gridDim.x) {
    const int64_t chunk = unit / strips, strip = unit % strips * kStrip;
    const int64_t own = strip + column * N;
    const Source source(p, own < p.kept_count ? own : int64_t{0});
    const int64_t first = chunk * p.chunk;
    const int64_t end = first + p.chunk < p.reduced_count ? first + p.chunk : p.reduced_count;
    Counter<O> counter;
    for (int64_t block = first; block < end; block += kBlock) {
      OutputVector<O, N, kGroups> own_lanes;
      if (end - block >= kBlock)
        own_lanes.take(source, group, block);
      else
        own_lanes.take_some(source, group, block, static_cast<int>(end - block));
#pragma unroll
      for (int v = 0; v < N; ++v) {
        halve<O>(own_lanes.lanes[v]);
        *reinterpret_cast<SharedPointer<A>>(parts[turn][group][column * N + v]) =
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
