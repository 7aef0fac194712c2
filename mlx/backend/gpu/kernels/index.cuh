// Reads at indices.
#pragma once

#include "mlx/backend/gpu/kernels/axes.cuh"

namespace mlx::core::device {

#ifndef MLX_OWN_ATOMICS  // a target may have its own
MLX_FN void atomic_add(uint32_t* at, uint32_t x) { atomicAdd(at, x); }
MLX_FN void atomic_add(uint64_t* at, uint64_t x) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(x));
}
#endif

/// An index as 64 bits. `type`: its bytes, negative where it has a sign.
MLX_FN int64_t load_index(int64_t address, int64_t type, int64_t at) {
  switch (type) {
    case 1:
      return memory<const uint8_t>(address)[at];
    case 2:
      return memory<const uint16_t>(address)[at];
    case 4:
      return memory<const uint32_t>(address)[at];
    case -1:
      return memory<const int8_t>(address)[at];
    case -2:
      return memory<const int16_t>(address)[at];
    case -4:
      return memory<const int32_t>(address)[at];
    default:
      return memory<const int64_t>(address)[at];
  }
}

/// Says that an index is out of range; the first one is heard.
MLX_NOINLINE void report(int64_t record, int64_t operand, int64_t value) {
  auto* r = memory<ErrorRecord>(record);
  if (atomicCAS(&r->set, 0u, 1u) != 0u) return;
  r->operand = static_cast<uint32_t>(operand);
  r->value = value;
  __threadfence_system();
}

/// An index, counted from the end where it is negative; -1, and a report, where it is out of range.
MLX_FN int64_t checked_index(int64_t index, int64_t type, int64_t size, int64_t span,
                             int64_t record, int64_t operand) {
  const int64_t i = index + (type < 0 && index < 0 ? size : 0);
  if (size >= span && static_cast<uint64_t>(i) <= static_cast<uint64_t>(size - span)) return i;
  report(record, operand, index);
  return -1;
}

/// No offset in an array.
MLX_CONSTANT int64_t kNowhere = -(int64_t(1) << 62);

/// Where an array of indices points to at a position; kNowhere where that is out of range.
MLX_FN int64_t one_offset(const Positions& p, int64_t k, int64_t position) {
  const auto& x = p.index[k];
  const int64_t index = load_index(x.address, x.type, offset_of(x.walk, position));
  const int64_t i = checked_index(index, x.type, x.size, x.span, p.record, k);
  return i < 0 ? kNowhere : i * x.stride;
}
/// Where the indices at a position point to; kNowhere where one of them is out of range.
MLX_FN int64_t indexed_offset(const Positions& p, int64_t position) {
  int64_t offset = 0;
  for (int64_t k = 0; k < p.indices; ++k) {
    const int64_t part = one_offset(p, k, position);
    if (part == kNowhere) return kNowhere;
    offset += part;
  }
  return offset;
}

/// Pieces of 16 bytes, where all that is read at a position consists of them.
struct alignas(16) GatherPiece {
  uint32_t w[4];
};
/// out[o, p, i] = in[o, the position p points to, i], with Scale elements in a T.
template <class T, int Scale, class I>
MLX_FN void gather_elements(const GatherArguments& p) {
  const I inner = static_cast<I>(p.inner_count / Scale),
          positions = static_cast<I>(p.position_count);
  const I n = static_cast<I>(p.outer_count) * positions * inner;
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  for (I i = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const I rest = i / inner, at = i % inner, position = rest % positions, outer = rest / positions;
    const int64_t offset = indexed_offset(p.at, static_cast<int64_t>(position));
    T x{};
    if (offset != kNowhere) {
      const int64_t row = offset + offset_of(p.outer, static_cast<int64_t>(outer)) +
                          offset_of(p.position, static_cast<int64_t>(position));
      if constexpr (Scale > 1) {
        x = in[row / Scale + static_cast<int64_t>(at)];
      } else {
        x = in[row + offset_of(p.inner, static_cast<int64_t>(at))];
      }
    }
    out[i] = x;
  }
}
/// `pieces`: whether rows are whole pieces, if they begin at one.
template <class T, class I>
MLX_FN void gather(const GatherArguments& p) {
  constexpr int kScale = 16 / static_cast<int>(sizeof(T));
  if (kScale > 1 && p.pieces && (p.in | p.out) % 16 == 0) {
    gather_elements<GatherPiece, kScale, I>(p);
  } else {
    gather_elements<T, 1, I>(p);
  }
}

/// Checks indices where nothing is read, and gives their offsets where they are written.
MLX_FN void find_offsets(const OffsetsArguments& p) {
  auto* out = memory<int64_t>(p.out);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.count;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t offset = indexed_offset(p.at, i);
    if (out) out[i] = offset;
  }
}

}  // namespace mlx::core::device
