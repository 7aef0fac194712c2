// Copies between any two layouts of the same shape.
#pragma once

#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// Copies the elements of `src` to `dst`: equal shapes and item sizes, any strides (those of `src`
/// may be zero). The operands must not overlap. Threaded; transpositions are blocked.
void copy_strided(const View& src, const View& dst);

/// The same for raw memory; strides in elements of `itemsize` bytes (1, 2, 4, 8 or 16).
void copy_strided(const void* src, const Strides& src_strides, void* dst,
                  const Strides& dst_strides, const Shape& shape, int itemsize);

}  // namespace mlx::core::cpu
