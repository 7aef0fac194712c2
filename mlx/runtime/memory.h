// Memory use, limits and cache of the default device's backend. Sizes are in bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Bytes in use by arrays and temporaries.
MLX_API size_t get_active_memory();
/// The maximum of the bytes in use since the start or the last reset.
MLX_API size_t get_peak_memory();
MLX_API void reset_peak_memory();
/// Bytes of freed memory that are kept for reuse.
MLX_API size_t get_cache_memory();
/// Bytes of the buffers of evaluated arrays; each buffer is counted once.
MLX_API size_t get_array_buffer_size(const std::vector<array>& arrays);
/// Sets the soft limit, above which the cache is released first; returns the previous limit.
MLX_API size_t set_memory_limit(size_t limit);
MLX_API size_t get_memory_limit();
/// Sets the maximum size of the cache; returns the previous limit.
MLX_API size_t set_cache_limit(size_t limit);
MLX_API void clear_cache();
/// Accepted for compatibility and without effect on the CPU. Returns the previous value.
MLX_API size_t set_wired_limit(size_t limit);
/// Sets the hard limit, above which allocations throw MemoryError; returns the previous limit.
MLX_API size_t set_memory_ceiling(size_t limit);
MLX_API size_t get_memory_ceiling();

}  // namespace mlx::core
