// The caching allocator for host memory. Freed blocks are kept and reused, because touching fresh
// pages costs many times what a kernel does; large blocks lie on 2 MiB boundaries and ask for huge
// pages. Safe to call from any thread and across fork().
#pragma once

#include <cstddef>

namespace mlx::core::cpu {

/// A block of host memory, aligned to 64 bytes (2 MiB from 2 MiB on). `size` is what was asked
/// for, `capacity` what is there. Not owning: give it back with free_block exactly once.
struct HostBlock {
  void* ptr = nullptr;
  size_t size = 0;
  size_t capacity = 0;
};

/// Allocates `size` bytes, uninitialised; zero bytes give a valid pointer to nothing. Throws
/// MemoryError beyond the hard ceiling, beyond what the machine can still give, or when `size` is
/// absurd (over 2^47).
HostBlock allocate(size_t size);

/// Returns a block to the cache, or to the system when the cache is full. Accepts empty buffers.
void free_block(const HostBlock& buffer) noexcept;

/// Bytes asked for by the blocks now in use.
size_t active_memory();
/// The highest active_memory() since the start or the last reset_peak_memory().
size_t peak_memory();
/// Bytes held in the cache.
size_t cache_memory();
/// Sets the peak to zero; the next allocation counts it anew.
void reset_peak_memory();
/// Gives every cached block back to the system.
void clear_cache();

/// The soft limit in bytes: over it cached blocks go back to the system before new memory is taken,
/// but allocations still succeed. Starts at 0.8 of total_memory().
size_t memory_limit();
/// Sets the soft limit; returns the previous one.
size_t set_memory_limit(size_t bytes);
/// The most the cache may hold, in bytes. Starts at a quarter of total_memory().
size_t cache_limit();
/// Sets the limit of the cache and trims it; returns the previous limit.
size_t set_cache_limit(size_t bytes);
/// The hard ceiling of active memory in bytes: beyond it allocate() throws. Starts at 0.95 of
/// total_memory().
size_t memory_ceiling();
/// Sets the hard ceiling; returns the previous one.
size_t set_memory_ceiling(size_t bytes);

/// Working memory for the length of a scope, aligned to 64 bytes. Small pieces come from a stack of
/// the calling thread, without any lock; large ones from allocate(). Lives in automatic storage of
/// one thread only (other threads may use the memory meanwhile).
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
