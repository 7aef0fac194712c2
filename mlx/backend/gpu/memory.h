// The memory of one device: blocks that are kept and given out again.
#pragma once

#include <list>
#include <map>
#include <set>

#include "mlx/backend/gpu/device.h"
#include "mlx/backend/gpu/figures.h"

namespace mlx::core::gpu {

struct Slab;
struct Block {
  Address address = 0;
  size_t size = 0;      ///< asked for
  size_t capacity = 0;  ///< that it has
  Slab* slab = nullptr;
};
/// By capacity and address: programs that repeat get the same blocks again, whatever the order in
/// which they gave them back.
using Blocks = std::map<std::pair<size_t, Address>, Block>;

/// A piece of memory from the device that small blocks are parts of.
struct Slab {
  Address address = 0;
  size_t given = 0;                                ///< bytes that are blocks
  size_t idle = 0;                                 ///< bytes of blocks in the cache
  std::map<Address, Blocks::iterator> parts = {};  ///< that are in the cache
  std::list<Slab>::iterator self = {};
};

/// A block comes back when the work that uses it is over: launches keep their buffers until then.
class Pool final : public PoolFigures {
 public:
  /// `poll` ends work that is over, and so gives back what that kept; `wait_for_all` waits for it.
  Pool(Hardware& hardware, void (*poll)(), void (*wait_for_all)());
  /// Throws MemoryError.
  Block take(size_t bytes);
  void give(Block block) noexcept;
  /// Where the host has a block, if it has.
  void* host_address(const Block& block) const { return hardware_.seen_by_host(block.address); }

  /// The bytes that clear_cache would give back: without parts of slabs that are in use.
  size_t cached() const override;

 private:
  Block find(size_t bytes);
  bool find_cached(size_t capacity, Block& found);
  bool allocate(size_t capacity, Block& found);
  void trim(size_t most) override;
  void remove(Blocks::iterator cached);

  Hardware& hardware_;
  const bool watched_;
  void (*const poll_)();
  void (*const wait_for_all_)();
  Blocks cache_;                // without parts of slabs
  Blocks parts_;                // of slabs
  std::list<Slab> slabs_;       // the last one has room
  std::set<Slab*> idle_slabs_;  // all of whose blocks are in the cache
};

/// Memory of a device.
class DeviceMemory : public Buffer {
 public:
  /// `host`: where the host has it, or null.
  DeviceMemory(Space space, void* host, Address address, size_t bytes)
      : Buffer(space, host, bytes), address_(address) {}
  Address address() const { return address_; }

 private:
  const Address address_;
};

/// Memory that belongs to others. Keeps `owner`, which keeps the memory.
class AdoptedMemory : public DeviceMemory {
 public:
  AdoptedMemory(Space space, void* host, Address address, size_t bytes, Ref<RefCounted> owner)
      : DeviceMemory(space, host, address, bytes), owner_(std::move(owner)) {}

 private:
  const Ref<RefCounted> owner_;
};

/// Memory of the host that kernels use in place.
class WrappedMemory final : public AdoptedMemory {
 public:
  WrappedMemory(Space space, void* host, Address address, size_t bytes, Ref<RefCounted> owner,
                Hardware& hardware)
      : AdoptedMemory(space, host, address, bytes, std::move(owner)), hardware_(hardware) {}
  ~WrappedMemory() override { hardware_.unwrap(host); }

 private:
  Hardware& hardware_;
};

/// Memory of the pool.
class DeviceBuffer final : public DeviceMemory {
 public:
  DeviceBuffer(Space space, Pool& pool, Block block)
      : DeviceMemory(space, pool.host_address(block), block.address, block.capacity),
        pool_(pool),
        block_(std::move(block)) {}
  ~DeviceBuffer() override { pool_.give(std::move(block_)); }

 private:
  Pool& pool_;
  Block block_;
};

}  // namespace mlx::core::gpu
