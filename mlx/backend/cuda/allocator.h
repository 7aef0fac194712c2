// The memory of one device: blocks that are kept and given out again.
#pragma once

#include <list>
#include <map>

#include "mlx/backend/cuda/driver.h"
#include "mlx/backend/shared/pool.h"

namespace mlx::core::cuda {

/// A piece of memory from the driver that small blocks are parts of.
struct Slab {
  Address address = 0;
  size_t given = 0;  ///< bytes that are blocks
  size_t idle = 0;   ///< bytes of blocks in the cache
};

struct Block {
  Address address = 0;
  size_t size = 0;      ///< asked for
  size_t capacity = 0;  ///< that it has
  Slab* slab = nullptr;
};

/// A block comes back when the work that uses it is over: launches keep their buffers until then.
class Pool final : public PoolFigures {
 public:
  /// `poll` looks which work is over, and so gives back what it kept; `wait_for_all` waits for it.
  Pool(ContextHandle context, size_t device_bytes, void (*poll)(), void (*wait_for_all)());
  /// Throws MemoryError.
  Block take(size_t bytes);
  void give(Block block) noexcept;

  /// What clear_cache would give back: without parts of slabs that are in use.
  size_t cached() const override;

 private:
  bool find_cached(size_t capacity, Block& found);
  bool allocate(size_t capacity, Block& found);
  void trim(size_t most) override;
  void free_idle_slabs();

  const ContextHandle context_;
  void (*const poll_)();
  void (*const wait_for_all_)();
  std::multimap<size_t, Block> cache_;  // by capacity
  std::list<Slab> slabs_;               // the last one has room
};

/// Memory of a device.
class DeviceMemory : public Buffer {
 public:
  DeviceMemory(Space space, Address address, size_t bytes)
      : Buffer(space, nullptr, bytes), address_(address) {}
  Address address() const { return address_; }

 private:
  const Address address_;
};

/// Memory of the pool.
class DeviceBuffer final : public DeviceMemory {
 public:
  DeviceBuffer(Space space, Pool& pool, Block block)
      : DeviceMemory(space, block.address, block.capacity), pool_(pool), block_(std::move(block)) {}
  ~DeviceBuffer() override { pool_.give(std::move(block_)); }

 private:
  Pool& pool_;
  Block block_;
};

}  // namespace mlx::core::cuda
