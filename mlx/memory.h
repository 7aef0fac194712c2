// Memory of the default device's backend: use, limits, cache. Sizes are bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "mlx/core/array.h"

namespace mlx::core {

/// Bytes in use by arrays and temporaries.
size_t get_active_memory();
/// The most that was in use since the start or the last reset.
size_t get_peak_memory();
void reset_peak_memory();
/// Bytes of freed memory kept for reuse.
size_t get_cache_memory();
/// Bytes of the buffers behind evaluated arrays, each buffer counted once.
size_t get_array_buffer_size(const std::vector<array>& arrays);
/// Sets the soft limit, over which the cache is given back first; returns the previous one.
size_t set_memory_limit(size_t limit);
size_t get_memory_limit();
/// Sets the most that the cache may hold; returns the previous limit.
size_t set_cache_limit(size_t limit);
void clear_cache();
/// Accepted for compatibility; memory is not wired on the CPU. Returns the previous value.
size_t set_wired_limit(size_t limit);
/// Sets the hard ceiling, beyond which allocations throw MemoryError; returns the previous one.
size_t set_memory_ceiling(size_t limit);
size_t get_memory_ceiling();

}  // namespace mlx::core
