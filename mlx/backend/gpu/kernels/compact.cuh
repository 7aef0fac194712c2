// Selection by masks. Blocks count the elements that chunks of a mask select, one block adds the
// counts up, and then blocks write where the selected elements are.
#pragma once

#include "mlx/backend/gpu/kernels/axes.cuh"
#include "mlx/backend/gpu/kernels/index.cuh"

namespace mlx::core::device {

/// The sum of what the threads of the block before the calling one have; and of what all have.
template <class A>
MLX_FN A sum_before(A own, A& all) {
  constexpr int kWarps = kThreads / 32;
  MLX_SHARED A warps[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  A sum = own;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const A other = __shfl_sync(~0u, sum, (lane - d) & 31);
    if (lane >= d) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  A before = sum - own;
  all = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) before += warps[w];
    all += warps[w];
  }
  __syncthreads();
  return before;
}

MLX_CONSTANT int kMaskEach = 8;  // elements that a thread reads at a time

/// Bit k: whether the mask selects element i + k.
MLX_FN uint32_t selected_bits(const MaskArguments& p, int64_t i, int64_t end) {
  const auto* mask = memory<const uint8_t>(p.mask) + i;
  uint64_t word = 0;
  if (end - i >= kMaskEach && reinterpret_cast<uint64_t>(mask) % kMaskEach == 0) {
    word = *reinterpret_cast<DevicePointer<const uint64_t>>(mask);
  } else {
    for (int k = 0; k < kMaskEach && i + k < end; ++k)
      word |= static_cast<uint64_t>(mask[k]) << (8 * k);
  }
  uint32_t bits = 0;
#pragma unroll
  for (int k = 0; k < kMaskEach; ++k) bits |= (word >> (8 * k) & 255) != 0 ? 1u << k : 0u;
  return bits;
}
MLX_FN int bit_count(uint32_t bits) {
  uint32_t n = 0;
#pragma unroll
  for (int k = 0; k < kMaskEach; ++k) n += bits >> k & 1;
  return static_cast<int>(n);
}
MLX_FN int64_t chunk_end(const MaskArguments& p, int64_t c) {
  return (c + 1) * p.chunk < p.n ? (c + 1) * p.chunk : p.n;
}

MLX_FN void count_selected(const MaskArguments& p) {
  auto* starts = memory<int64_t>(p.starts);
  for (int64_t c = blockIdx.x; c < p.chunks; c += gridDim.x) {
    int64_t own = 0, all = 0;
    const int64_t end = chunk_end(p, c);
    for (int64_t i = c * p.chunk + threadIdx.x * kMaskEach; i < end; i += kThreads * kMaskEach)
      own += bit_count(selected_bits(p, i, end));
    sum_before(own, all);
    if (threadIdx.x == 0) starts[c] = all;
  }
}

/// Where the chunks begin. A number of elements that is not accepted is reported, and none is
/// selected.
MLX_FN void add_counts(const MaskArguments& p) {
  constexpr int kEach = 16;
  auto* starts = memory<int64_t>(p.starts);
  int64_t before = 0;
  for (int64_t first = 0; first < p.chunks; first += kThreads * kEach) {
    const int64_t c = first + threadIdx.x * kEach;
    int64_t counts[kEach], own = 0, all = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      counts[j] = c + j < p.chunks ? starts[c + j] : 0;
      own += counts[j];
    }
    int64_t at = before + sum_before(own, all);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      if (c + j < p.chunks) starts[c + j] = at;
      at += counts[j];
    }
    before += all;
  }
  if (threadIdx.x != 0) return;
  const bool accepted = before >= p.least && before <= p.most;
  starts[p.chunks] = accepted ? before : 0;
  if (!accepted) report(p.record, 0, before);
}

/// How many elements the mask selects.
MLX_FN int64_t selected_count(const MaskArguments& p) {
  return memory<const int64_t>(p.starts)[p.chunks];
}

/// Calls f(k, i) for the k-th element that is selected, which is element i; neighbouring threads
/// have neighbours. Where the mask has changed since it was counted, that is reported, and what is
/// written stays in the space of its chunk.
template <class F>
MLX_FN void each_selected(const MaskArguments& p, F f) {
  constexpr int kTile = kThreads * kMaskEach;
  MLX_SHARED uint16_t places[kTile];  // in the tile
  const auto* starts = memory<const int64_t>(p.starts);
  if (selected_count(p) == 0) return;
  for (int64_t c = blockIdx.x; c < p.chunks; c += gridDim.x) {
    const int64_t end = chunk_end(p, c), stop = starts[c + 1];
    int64_t before = starts[c];
    for (int64_t tile = c * p.chunk; tile < end; tile += kTile) {
      const int place = static_cast<int>(threadIdx.x) * kMaskEach;
      const uint32_t bits = tile + place < end ? selected_bits(p, tile + place, end) : 0u;
      int all = 0, at = sum_before(bit_count(bits), all);
#pragma unroll
      for (int b = 0; b < kMaskEach; ++b)
        if (bits >> b & 1) places[at++] = static_cast<uint16_t>(place + b);
      __syncthreads();
      const int n = before + all <= stop ? all : static_cast<int>(stop - before);
      for (int j = static_cast<int>(threadIdx.x); j < n; j += kThreads)
        f(before + j, tile + places[j]);
      before += all;
    }
    if (threadIdx.x == 0 && before != stop) report(p.record, 0, before);
  }
}

/// The positions of what is selected, as numbers of elements of the mask.
MLX_FN void find_positions(const MaskArguments& p) {
  auto* positions = memory<int64_t>(p.positions);
  each_selected(p, [&](int64_t k, int64_t i) {
    if (k < p.kept) positions[k] = i;
  });
}

/// The same as indices on each axis.
template <class I>
MLX_FN void nonzero(const NonzeroArguments& p) {
  auto* out = memory<I>(p.out);
  each_selected(p.mask, [&](int64_t k, int64_t i) {
    for (int64_t d = p.axes.rank - 1; d > 0; --d) {
      const int64_t length = p.axes.shape[d], rest = position_quotient(i, length);
      out[k * p.along + d * p.across] = static_cast<I>(i - rest * length);
      i = rest;
    }
    out[k * p.along] = static_cast<I>(i);
  });
}

/// The position of the k-th slice, or -1: there are not so many, or the mask has changed.
MLX_FN int64_t slice_position(const MaskArguments& p, int64_t k, int64_t count) {
  if (k >= count) return -1;
  const int64_t i = memory<const int64_t>(p.positions)[k];
  return static_cast<uint64_t>(i) < static_cast<uint64_t>(p.n) ? i : -1;
}

/// out[k] = in[the k-th position], and 0 behind the last one.
template <class T, class I>
MLX_FN void compact(const CompactArguments& p) {
  const I row = static_cast<I>(p.row), n = static_cast<I>(p.count) * row;
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  const int64_t count = selected_count(p.mask);
  for (I x = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; x < n;
       x += static_cast<I>(gridDim.x) * kThreads) {
    const I k = x / row;
    const int64_t i = slice_position(p.mask, static_cast<int64_t>(k), count);
    out[x] =
        i < 0
            ? T{}
            : in[offset_of(p.position, i) + offset_of(p.inner, static_cast<int64_t>(x - k * row))];
  }
}

/// The same for single elements, as many as there is space for.
template <class T>
MLX_FN void compact_elements(const CompactArguments& p) {
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  each_selected(p.mask, [&](int64_t k, int64_t i) { out[k] = in[offset_of(p.position, i)]; });
}
template <class T>
MLX_FN void masked_scatter_elements(const CompactArguments& p) {
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  each_selected(p.mask, [&](int64_t k, int64_t i) { out[i] = in[k]; });
}

/// out[the k-th position] = in[k]
template <class T, class I>
MLX_FN void masked_scatter(const CompactArguments& p) {
  const I row = static_cast<I>(p.row), n = static_cast<I>(p.count) * row;
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  const int64_t count = selected_count(p.mask);
  for (I x = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; x < n;
       x += static_cast<I>(gridDim.x) * kThreads) {
    const I k = x / row;
    const int64_t i = slice_position(p.mask, static_cast<int64_t>(k), count);
    if (i >= 0) out[i * p.row + static_cast<int64_t>(x - k * row)] = in[x];
  }
}

}  // namespace mlx::core::device
