// The caching allocator for host memory. Freed blocks are kept and reused, because the first access
// to new pages costs many times what a kernel does; large blocks are aligned to 2 MiB for huge
// pages. Safe to call from any thread and across fork().
#pragma once

#include <cstddef>

namespace mlx::core::cpu {

/// A block of host memory, aligned to 64 bytes (2 MiB from 2 MiB on). `size` is the requested size,
/// `capacity` the allocated size. Not owning: must be freed with free_block exactly once.
struct HostBlock {
  void* ptr = nullptr;
  size_t size = 0;
  size_t capacity = 0;
};

/// Allocates `size` bytes, uninitialised; zero bytes give a valid pointer. Throws MemoryError above
/// the hard limit, beyond the machine's available memory, or for a size over 2^47.
HostBlock allocate(size_t size);

/// Returns a block to the cache, or to the system when the cache is full. Accepts empty buffers.
void free_block(const HostBlock& buffer) noexcept;

/// Bytes requested by the blocks now in use.
size_t active_memory();
/// The highest active_memory() since the start or the last reset_peak_memory().
size_t peak_memory();
/// Bytes held in the cache.
size_t cache_memory();
/// Sets the peak to zero; the next allocation counts it anew.
void reset_peak_memory();
/// Gives every cached block back to the system.
void clear_cache();

/// The soft limit in bytes: above it, cached blocks are returned to the system before new memory is
/// allocated, but allocations still succeed. Initially 0.8 of total_memory().
size_t memory_limit();
/// Sets the soft limit; returns the previous one.
size_t set_memory_limit(size_t bytes);
/// The maximum size of the cache in bytes. Initially a quarter of total_memory().
size_t cache_limit();
/// Sets the limit of the cache and trims it; returns the previous limit.
size_t set_cache_limit(size_t bytes);
/// The hard limit of active memory in bytes: above it allocate() throws. Initially 0.95 of
/// total_memory().
size_t memory_ceiling();
/// Sets the hard limit; returns the previous one.
size_t set_memory_ceiling(size_t bytes);

/// Working memory for the duration of a scope, aligned to 64 bytes. Small blocks come from a
/// per-thread stack without a lock, large ones from allocate(). Must be an automatic variable of
/// one thread (other threads may use the memory in the meantime).
class Scratch {
 public:
  explicit Scratch(size_t size);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  static void* operator new(size_t) = delete;
  template <class T = void>
  T* get() const {
    return static_cast<T*>(block_.ptr);
  }

 private:
  HostBlock block_;
  size_t on_stack_ = 0;  // bytes taken from the thread's stack
};

}  // namespace mlx::core::cpu
