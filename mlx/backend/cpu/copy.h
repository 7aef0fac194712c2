// Copies between any two layouts of the same shape.
#pragma once

#include <cstring>

#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// Copies bytes on the calling thread, as fast for any alignment; the memory must not overlap.
inline void copy_bytes(void* dst, const void* src, int64_t bytes) {
  if (bytes < kLongCopy)
    std::memcpy(dst, src, static_cast<size_t>(bytes));
  else
    loaded_kernels().copy(dst, src, bytes);
}

/// Copies the elements of `src` to `dst`: equal shapes and item sizes, any strides (those of `src`
/// may be zero). The operands must not overlap. Threaded; transpositions are blocked.
void copy_strided(const View& src, const View& dst);

/// The same for raw memory; strides in elements of `itemsize` bytes (1, 2, 4, 8 or 16).
void copy_strided(const void* src, const Strides& src_strides, void* dst,
                  const Strides& dst_strides, const Shape& shape, int itemsize);

}  // namespace mlx::core::cpu
