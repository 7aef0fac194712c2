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

/// Bytes of a row up to which copies of constant length, one beside the other, are faster than a
/// call.
inline constexpr int64_t kShortRowBytes = 2048;

/// Copies rows of `bytes` > 0 bytes on the calling thread; steps in bytes. For short rows.
void copy_rows_of_bytes(const char* src, int64_t src_step, char* dst, int64_t dst_step,
                        int64_t bytes, int64_t rows);

/// Copies the elements of `src` to `dst`: equal shapes and item sizes, any strides (those of `src`
/// may be zero). The operands must not overlap. Threaded; transpositions are blocked.
void copy_strided(const View& src, const View& dst);

/// The same for raw memory; strides in elements of `itemsize` bytes (1, 2, 4, 8 or 16).
void copy_strided(const void* src, const Strides& src_strides, void* dst,
                  const Strides& dst_strides, const Shape& shape, int itemsize);

}  // namespace mlx::core::cpu
