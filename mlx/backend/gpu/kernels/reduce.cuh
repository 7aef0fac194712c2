// Reductions in the CPU's order: blocks of 512 elements, in which element i belongs to lane i mod
// 32; a lane combines its elements from first to last, the lanes combine pairwise (distance 16, 8,
// 4, 2, 1), the blocks as a binary counter carries. A warp has the lanes; where neighbouring
// outputs are neighbours in memory, a thread has them all.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/axes.cuh"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

MLX_CONSTANT int kLanes = 32, kBlock = 512, kLevels = 48;

/// One: there is one reduced axis.
template <bool One>
MLX_FN int64_t reduced_offset(const Axes& axes, int64_t position) {
  if constexpr (One) {
    return position * axes.strides[0];
  } else {
    return offset_of(axes, position);
  }
}

//--- what is reduced: the element type T, the accumulator A, and how two combine

template <class A>
MLX_FN A raw_add(A a, A b) {
  if constexpr (m::IsCx<A>::value) {
    return m::add(a, b);
  } else {
    return a + b;
  }
}
template <class A, class T>
MLX_FN A widened_to(T x) {
  if constexpr (is_narrow<T>) {
    return widened(x);
  } else if constexpr (m::IsCx<T>::value) {
    return x;
  } else {
    return static_cast<A>(x);
  }
}

template <class T_, class A_>
struct Sum {
  using T = T_;
  using A = A_;
  static MLX_FN A neutral() { return A{}; }
  static MLX_FN A load(T x, int64_t) { return widened_to<A>(x); }
  static MLX_FN A combine(A a, A b) { return raw_add(a, b); }
};
template <class T_, class A_>
struct Product {
  using T = T_;
  using A = A_;
  static MLX_FN A neutral() {
    if constexpr (m::IsCx<A>::value) {
      return {1, 0};
    } else {
      return A(1);
    }
  }
  static MLX_FN A load(T x, int64_t) { return widened_to<A>(x); }
  static MLX_FN A combine(A a, A b) {
    if constexpr (m::IsCx<A>::value) {
      return m::multiply(a, b);
    } else {
      return a * b;
    }
  }
};

template <class A>
MLX_FN bool is_nan(A x) {
  if constexpr (m::IsCx<A>::value) {
    return m::isnan(x);
  } else {
    return x != x;
  }
}
template <class A>
MLX_FN bool exceeds(A a, A b) {
  if constexpr (m::IsCx<A>::value) {
    return m::greater(a, b);
  } else {
    return a > b;
  }
}
/// The largest, or the smallest: NaN where there is one.
template <class T_, class A_, bool Largest>
struct Extreme {
  using T = T_;
  using A = A_;
  static MLX_FN A neutral() {
    constexpr float inf = Largest ? -__builtin_inff() : __builtin_inff();
    if constexpr (m::IsCx<A>::value) {
      return {inf, inf};
    } else if constexpr (std::is_floating_point_v<A>) {
      return inf;
    } else if constexpr (std::is_same_v<A, bool>) {
      return !Largest;
    } else {
      constexpr bool is_signed = std::is_signed_v<A>;
      constexpr A top =
          static_cast<A>(is_signed ? (uint64_t(1) << (8 * sizeof(A) - 1)) - 1 : ~uint64_t(0));
      return Largest ? static_cast<A>(is_signed ? -top - 1 : 0) : top;
    }
  }
  static MLX_FN A load(T x, int64_t) { return widened_to<A>(x); }
  static MLX_FN A combine(A a, A b) {
    // Of a number and a NaN the NaN: it exceeds nothing.
    return (Largest ? exceeds(a, b) : exceeds(b, a)) || is_nan(a) ? a : b;
  }
};

/// Whether any element counts, or, with All, whether any does not.
template <class T_, bool All>
struct Truth {
  using T = T_;
  using A = uint8_t;
  static MLX_FN A neutral() { return 0; }
  static MLX_FN A load(T x, int64_t) { return cast<bool>(x) != All; }
  static MLX_FN A combine(A a, A b) { return a | b; }
};

template <class A, class I>
struct Best {
  A value;
  I index;  ///< -1: of nothing
};
template <class A>
MLX_CONSTANT bool is_best = false;
template <class A, class I>
MLX_CONSTANT bool is_best<Best<A, I>> = true;
/// The first largest, or smallest, element and its position; NaN beats numbers.
template <class T_, class V_, bool Largest, class I>
struct ArgExtreme {
  using T = T_;
  using A = Best<V_, I>;
  static MLX_FN A neutral() { return {V_{}, -1}; }
  static MLX_FN A load(T x, int64_t position) {
    return {widened_to<V_>(x), static_cast<I>(position)};
  }
  static MLX_FN A combine(A a, A b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    const bool first = a.index < b.index;
    A low = first ? a : b, high = first ? b : a;
    if (is_nan(low.value)) return low;
    if (is_nan(high.value)) return high;
    return (Largest ? exceeds(high.value, low.value) : exceeds(low.value, high.value)) ? high : low;
  }
  /// The same where b is an element behind all of a's.
  static MLX_FN A append(A a, A b) {
    if (is_nan(a.value)) return a;
    return is_nan(b.value) || (Largest ? exceeds(b.value, a.value) : exceeds(a.value, b.value)) ? b
                                                                                                : a;
  }
};

/// Combines results of earlier elements with a later element.
template <class O>
MLX_FN typename O::A append(typename O::A a, typename O::A b) {
  if constexpr (is_best<typename O::A>) {
    return O::append(a, b);
  } else {
    return O::combine(a, b);
  }
}

//--- from accumulators to results

struct Plain {
  template <class Out, class A>
  static MLX_FN Out finish(A x, int64_t) {
    if constexpr (is_narrow<Out>) {
      return narrowed<Out>(x);
    } else if constexpr (m::IsCx<A>::value) {
      return x;
    } else {
      return static_cast<Out>(x);
    }
  }
};
/// The type in which a sum is divided.
template <class A>
using MeanOf = std::conditional_t<std::is_same_v<A, float>, float, double>;
struct Mean {
  template <class Out, class A>
  static MLX_FN Out finish(A x, int64_t count) {
    if constexpr (m::IsCx<A>::value) {
      const auto n = static_cast<decltype(x.re)>(count);
      return {x.re / n, x.im / n};
    } else {
      using M = MeanOf<A>;
      const M mean = static_cast<M>(x) / static_cast<M>(count);
      if constexpr (is_narrow<Out>) {
        return narrowed<Out>(static_cast<float>(mean));
      } else {
        return static_cast<Out>(mean);
      }
    }
  }
};
struct Any {
  template <class Out, class A>
  static MLX_FN Out finish(A x, int64_t) {
    return x != 0;
  }
};
struct All {
  template <class Out, class A>
  static MLX_FN Out finish(A x, int64_t) {
    return x == 0;
  }
};
struct Position {
  template <class Out, class A>
  static MLX_FN Out finish(A x, int64_t) {
    return static_cast<Out>(x.index);
  }
};

//--- where elements come from

/// From an array. A source gives element `i` of what is reduced to an output, and says how many
/// elements a lane takes at once.
template <class T, bool One>
struct FromMemory {
  static MLX_CONSTANT int kBatch = 16;
  const Axes& reduced;
  const DevicePointer<const T> first;
  MLX_FN FromMemory(const ReduceArguments& p, int64_t output)
      : reduced(p.reduced), first(memory<const T>(p.in) + offset_of(p.kept, output)) {}
  MLX_FN T operator()(int64_t i) const { return first[reduced_offset<One>(reduced, i)]; }
};

//--- the kernels

/// Partial results, combined as the digits of a binary counter carry.
template <class O>
struct Counter {
  using A = typename O::A;
  A parts[kLevels];
  int top = 0;
  uint64_t count = 0;
  MLX_FN void push(A x) {
    for (uint64_t t = count++; t & 1; t >>= 1) x = O::combine(parts[--top], x);
    parts[top++] = x;
  }
  MLX_FN A result() { return top == 0 ? O::neutral() : result_with(parts[--top]); }
  /// The same with the result `last` of later elements, fewer than any part has.
  MLX_FN A result_with(A last) {
    while (top) last = O::combine(parts[--top], last);
    return last;
  }
};

/// Passes on the result of one output's chunk.
template <class O, class F, class Out>
MLX_FN void deliver(const ReduceArguments& p, int64_t output, int64_t chunk, typename O::A x) {
  if (p.chunks == 1)
    memory<Out>(p.out)[output] = F::template finish<Out>(x, p.reduced_count);
  else
    memory<typename O::A>(p.partials)[chunk * p.kept_count + output] = x;
}

template <class A>
MLX_FN A shuffled_down(A x, int distance) {
  if constexpr (m::IsCx<A>::value) {
    return {__shfl_down_sync(~0u, x.re, distance), __shfl_down_sync(~0u, x.im, distance)};
  } else if constexpr (is_best<A>) {
    return {shuffled_down(x.value, distance), __shfl_down_sync(~0u, x.index, distance)};
  } else if constexpr (sizeof(A) < 4) {
    return static_cast<A>(__shfl_down_sync(~0u, static_cast<int>(x), distance));
  } else {
    return __shfl_down_sync(~0u, x, distance);
  }
}

/// Loads N elements of one lane, from `first` on, before any of them is used; the first one again
/// in the place of others behind `last`.
template <int N, class Source, class E>
MLX_FN void load_batch(const Source& source, int64_t first, int64_t last, E (&to)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int64_t i = first + j * kLanes;
    to[j] = source(i < last ? i : first);
  }
}
/// A batch combined, behind `x` where there are results `before`.
template <class O, int N, class E>
MLX_FN typename O::A combined_batch(typename O::A x, bool before, int64_t first, int64_t last,
                                    const E (&from)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int64_t i = first + j * kLanes;
    const typename O::A y = O::load(from[j], i);
    if (j == 0 && !before)
      x = y;
    else if (i < last)
      x = append<O>(x, y);
  }
  return x;
}

/// The elements of one lane of a block, which begin at `first`.
template <class O, class Source>
MLX_FN typename O::A lane_of_block(const Source& source, int64_t first, int64_t last) {
  constexpr int kEach = kBlock / kLanes, kBatch = Source::kBatch;
  typename O::A x = O::neutral();
  for (int batch = 0; batch < kEach; batch += kBatch) {
    const int64_t i = first + batch * kLanes;
    if (i >= last) break;
    decltype(source(i)) some[kBatch];
    load_batch(source, i, last, some);
    x = combined_batch<O>(x, batch > 0, i, last, some);
  }
  return x;
}

/// The end of the block that begins at `block`, or of the elements.
MLX_FN int64_t end_of_block(int64_t block, int64_t end) {
  return block + kBlock < end ? block + kBlock : end;
}
/// Combines the lanes of a warp, and counts the result in the first one.
template <class O>
MLX_FN void count_lanes(Counter<O>& counter, int lane, typename O::A x) {
#pragma unroll
  for (int h = kLanes / 2; h > 0; h /= 2) x = O::combine(x, shuffled_down(x, h));
  if (lane == 0) counter.push(x);
}
/// Counts the results of the blocks of [first, end). Where a block is a batch of small elements,
/// the next one is on its way while one is combined.
template <class O, class Source>
MLX_FN void count_blocks(const Source& source, int64_t first, int64_t end, int lane,
                         Counter<O>& counter) {
  constexpr int kEach = kBlock / kLanes;
  using E = decltype(source(first));
  if constexpr (Source::kBatch == kEach && sizeof(E) <= 4) {
    E now[kEach] = {}, next[kEach] = {};  // a bool that nothing wrote may not be copied
    if (first + lane < end) load_batch(source, first + lane, end_of_block(first, end), now);
    for (int64_t block = first; block < end; block += kBlock) {
      const int64_t following = block + kBlock + lane;
      if (following < end) load_batch(source, following, end_of_block(block + kBlock, end), next);
      typename O::A x = O::neutral();
      if (block + lane < end)
        x = combined_batch<O>(x, false, block + lane, end_of_block(block, end), now);
      count_lanes<O>(counter, lane, x);
#pragma unroll
      for (int j = 0; j < kEach; ++j) now[j] = next[j];
    }
  } else {
    for (int64_t block = first; block < end; block += kBlock) {
      typename O::A x = O::neutral();
      if (block + lane < end) x = lane_of_block<O>(source, block + lane, end_of_block(block, end));
      count_lanes<O>(counter, lane, x);
    }
  }
}

/// A warp for each output and chunk.
template <class O, class F, class Out, class Source, class Arguments>
MLX_FN void reduce_rows(const Arguments& p) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / kLanes);
  for (int64_t tile = static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) + threadIdx.x / kLanes;
       tile < p.kept_count * p.chunks; tile += warps) {
    const int64_t output = tile / p.chunks, chunk = tile % p.chunks;
    const Source source(p, output);
    const int64_t first = chunk * p.chunk;
    const int64_t end = first + p.chunk < p.reduced_count ? first + p.chunk : p.reduced_count;
    Counter<O> counter;
    count_blocks(source, first, end, lane, counter);
    if (lane == 0) deliver<O, F, Out>(p, output, chunk, counter.result());
  }
}

/// N threads for each output, of up to 16 N elements in one block; lanes without an element combine
/// with others as neutral ones do.
template <class O, class F, class Out, class Source, int N, int Each, class Arguments>
MLX_FN void reduce_short(const Arguments& p) {
  using A = typename O::A;
  static_assert(N == kLanes || Each == 1);
  const int lane = static_cast<int>(threadIdx.x % N);
  constexpr int kOutputs = kThreads / N;
  const int64_t end = p.kept_count, n = p.reduced_count;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kOutputs; first < end;
       first += static_cast<int64_t>(gridDim.x) * kOutputs) {
    const int64_t output = first + threadIdx.x / N;
    const Source source(p, output < end ? output : end - 1);
    A x = O::neutral();
    if (lane < n) {
      decltype(source(n)) some[Each];
      load_batch(source, lane, n, some);
      x = combined_batch<O>(x, false, lane, n, some);
    }
    if constexpr (N < kLanes) x = O::combine(x, O::neutral());
#pragma unroll
    for (int h = N / 2; h > 0; h /= 2) x = O::combine(x, shuffled_down(x, h));
    if (lane == 0 && output < end) memory<Out>(p.out)[output] = F::template finish<Out>(x, n);
  }
}

/// The result of N elements, one in each lane. Absent lanes combine with them as neutral ones do.
template <class O, class F, class Out, class E, int N>
MLX_FN Out of_few(const E (&elements)[N]) {
  static_assert(N < kLanes);
  typename O::A lanes[N];
#pragma unroll
  for (int l = 0; l < N; ++l) lanes[l] = O::combine(O::load(elements[l], l), O::neutral());
#pragma unroll
  for (int h = kLanes / 2; h > 0; h /= 2) {
#pragma unroll
    for (int l = 0; l < h && l + h < N; ++l) lanes[l] = O::combine(lanes[l], lanes[l + h]);
  }
  return F::template finish<Out>(lanes[0], N);
}
/// A thread for each output, of N elements.
template <class O, class F, class Out, class Source, int N, class Arguments>
MLX_FN void reduce_few(const Arguments& p) {
  for (int64_t output = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       output < p.kept_count; output += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Source source(p, output);
    decltype(source(output)) own[N];
#pragma unroll
    for (int l = 0; l < N; ++l) own[l] = source(l);
    memory<Out>(p.out)[output] = of_few<O, F, Out>(own);
  }
}

/// Combines lanes pairwise, each with the one that is half of them behind it, down to the first.
template <class O, class A, int N>
MLX_FN void halve(A (&lanes)[N]) {
#pragma unroll
  for (int h = N / 2; h > 0; h /= 2) {
#pragma unroll
    for (int l = 0; l < h; ++l) lanes[l] = O::combine(lanes[l], lanes[l + h]);
  }
}

/// A thread for each output and chunk.
template <class O, class F, class Out, class Source, class Arguments>
MLX_FN void reduce_columns(const Arguments& p) {
  using A = typename O::A;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t tile = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       tile < p.kept_count * p.chunks; tile += threads) {
    const int64_t output = tile % p.kept_count, chunk = tile / p.kept_count;
    const Source source(p, output);
    const int64_t first = chunk * p.chunk;
    const int64_t end = first + p.chunk < p.reduced_count ? first + p.chunk : p.reduced_count;
    Counter<O> counter;
    for (int64_t block = first; block < end; block += kBlock) {
      const int64_t last = block + kBlock < end ? block + kBlock : end;
      A lanes[kLanes];
      // One loop over rows of lanes: the unrolled part is compiled once.
      for (int64_t row = block; row < last; row += kLanes) {
#pragma unroll
        for (int l = 0; l < kLanes; ++l) {
          // Loads do not wait for conditions: many are in flight.
          const int64_t i = row + l;
          const A x = O::load(source(i < last ? i : last - 1), i);
          if (row == block)
            lanes[l] = i < last ? x : O::neutral();
          else if (i < last)
            lanes[l] = append<O>(lanes[l], x);
        }
      }
      halve<O>(lanes);
      counter.push(lanes[0]);
    }
    deliver<O, F, Out>(p, output, chunk, counter.result());
  }
}

/// Neighbouring outputs in a warp, whose lanes the warps of a block share: warp g has the lanes g,
/// g + 8, g + 16 and g + 24 of each block of elements. For few outputs.
template <class O, class F, class Out, class Source, class Arguments>
MLX_FN void reduce_shared_columns(const Arguments& p) {
  using A = typename O::A;
  constexpr int kWarps = kThreads / kLanes, kOwn = kLanes / kWarps;
  alignas(16) MLX_SHARED unsigned char parts[2][kWarps][kLanes][sizeof(A)];
  const int column = static_cast<int>(threadIdx.x) % kLanes;
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  const int64_t strips = (p.kept_count + kLanes - 1) / kLanes;
  int turn = 0;  // the half of `parts` that no thread reads any more
  for (int64_t unit = blockIdx.x; unit < strips * p.chunks; unit += gridDim.x) {
    const int64_t chunk = unit / strips, output = unit % strips * kLanes + column;
    const Source source(p, output < p.kept_count ? output : p.kept_count - 1);
    const int64_t first = chunk * p.chunk;
    const int64_t end = first + p.chunk < p.reduced_count ? first + p.chunk : p.reduced_count;
    Counter<O> counter;
    for (int64_t block = first; block < end; block += kBlock) {
      const int64_t last = block + kBlock < end ? block + kBlock : end;
      A own[kOwn];
#pragma unroll 4
      for (int64_t row = block; row < last; row += kLanes) {
#pragma unroll
        for (int k = 0; k < kOwn; ++k) {
          const int64_t i = row + warp + k * kWarps;
          const A x = O::load(source(i < last ? i : last - 1), i);
          if (row == block)
            own[k] = i < last ? x : O::neutral();
          else if (i < last)
            own[k] = append<O>(own[k], x);
        }
      }
      halve<O>(own);
      *reinterpret_cast<SharedPointer<A>>(parts[turn][warp][column]) = own[0];
      __syncthreads();
      if (warp == 0) {
        A all[kWarps];
#pragma unroll
        for (int w = 0; w < kWarps; ++w)
          all[w] = *reinterpret_cast<SharedPointer<A>>(parts[turn][w][column]);
        halve<O>(all);
        counter.push(all[0]);
      }
      turn = 1 - turn;
    }
    if (warp == 0 && output < p.kept_count) deliver<O, F, Out>(p, output, chunk, counter.result());
  }
}

/// The results of a run of chunks, which begins at a multiple of its length, of one output. Many
/// are on their way at once.
template <class O>
MLX_FN typename O::A run_of_chunks(const ReduceArguments& p, int64_t output, int64_t first,
                                   int64_t length) {
  using A = typename O::A;
  constexpr int kBatch = sizeof(A) <= 8 ? 16 : 8;
  const auto partials = memory<const A>(p.partials);
  const int64_t end = first + length < p.chunks ? first + length : p.chunks;
  Counter<O> batches;
  for (int64_t c = first; c < end; c += kBatch) {
    A some[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j)
      some[j] = partials[(c + j < end ? c + j : c) * p.kept_count + output];
    // Neighbours, then pairs of them, as the counter would combine them.
#pragma unroll
    for (int h = 1; h < kBatch; h *= 2) {
#pragma unroll
      for (int j = 0; j < kBatch; j += 2 * h)
        if (c + j + h < end) some[j] = O::combine(some[j], some[j + h]);
    }
    if (c + kBatch > end) return batches.result_with(some[0]);
    batches.push(some[0]);
  }
  return batches.result();
}

/// G threads for each output, over the results of its chunks: a thread combines a run of them,
/// whose length is a power of 2. Neighbours combine, then pairs of them, as a binary counter
/// carries.
template <class O, class F, class Out, int G>
MLX_FN void reduce_chunks(const ReduceArguments& p) {
  using A = typename O::A;
  const int member = static_cast<int>(threadIdx.x) % G;
  int64_t length = 1;
  while (length * G < p.chunks) length *= 2;
  const int runs = static_cast<int>((p.chunks + length - 1) / length);
  constexpr int groups = kThreads / G;
  for (int64_t output = static_cast<int64_t>(blockIdx.x) * groups + threadIdx.x / G;
       output < p.kept_count; output += static_cast<int64_t>(gridDim.x) * groups) {
    A x = O::neutral();
    if (member < runs) x = run_of_chunks<O>(p, output, member * length, length);
#pragma unroll
    for (int h = 1; h < kLanes && h < G; h *= 2) {
      const A y = shuffled_down(x, h);
      if (member % (2 * h) == 0 && member + h < runs) x = O::combine(x, y);
    }
    if constexpr (G > kLanes) {
      MLX_SHARED A parts[G / kLanes];
      __syncthreads();
      if (member % kLanes == 0) parts[member / kLanes] = x;
      __syncthreads();
      if (member == 0) {
        Counter<O> counter;
        for (int w = 0; w * kLanes < runs; ++w) counter.push(parts[w]);
        x = counter.result();
      }
    }
    if (member == 0) memory<Out>(p.out)[output] = F::template finish<Out>(x, p.reduced_count);
  }
}

}  // namespace mlx::core::device
