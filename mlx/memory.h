// Memory of the default device's backend: use, limits, cache. Sizes are bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Bytes in use by arrays and temporaries.
MLX_API size_t get_active_memory();
/// The most that was in use since the start or the last reset.
MLX_API size_t get_peak_memory();
MLX_API void reset_peak_memory();
/// Bytes of freed memory kept for reuse.
MLX_API size_t get_cache_memory();
/// Bytes of the buffers behind evaluated arrays, each buffer counted once.
MLX_API size_t get_array_buffer_size(const std::vector<array>& arrays);
/// Sets the soft limit, over which the cache is given back first; returns the previous one.
MLX_API size_t set_memory_limit(size_t limit);
MLX_API size_t get_memory_limit();
/// Sets the most that the cache may hold; returns the previous limit.
MLX_API size_t set_cache_limit(size_t limit);
MLX_API void clear_cache();
/// Accepted for compatibility; memory is not wired on the CPU. Returns the previous value.
MLX_API size_t set_wired_limit(size_t limit);
/// Sets the hard ceiling, beyond which allocations throw MemoryError; returns the previous one.
MLX_API size_t set_memory_ceiling(size_t limit);
MLX_API size_t get_memory_ceiling();

}  // namespace mlx::core
