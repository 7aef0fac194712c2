// The device's memory: blocks between guard bytes, poisoned when they are given out and when they
// come back, counted and limited like that of a real device.
#pragma once

#include <map>
#include <vector>

#include "mlx/backend/shared/pool.h"

namespace mlx::core::fake {

struct Block {
  unsigned char* data = nullptr;  ///< on a boundary of 256 bytes
  size_t size = 0;                ///< asked for
  size_t capacity = 0;
};

class Memory final : public PoolFigures {
 public:
  Memory();
  /// Throws MemoryError beyond the hard limit, after waiting for work that holds memory.
  Block take(size_t bytes);
  void give(const Block& block);

 private:
  Block find_cached(size_t capacity);
  void trim(size_t most) override;

  std::multimap<size_t, Block> cache_;  // by capacity
};

/// Bytes of the device; not owned where they were wrapped. In discrete mode the host has no address
/// of them.
class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(Space space, Memory& memory, const Block& block, bool host_reads)
      : Buffer(space, host_reads ? block.data : nullptr, block.capacity),
        memory_(&memory),
        block_(block) {}
  DeviceBuffer(Space space, void* data, size_t bytes, Ref<RefCounted> owner)
      : Buffer(space, data, bytes), owner_(std::move(owner)) {
    block_.data = static_cast<unsigned char*>(data);
  }
  ~DeviceBuffer() override {
    if (memory_) memory_->give(block_);
  }
  unsigned char* data() const { return block_.data; }

 private:
  Memory* memory_ = nullptr;
  Block block_;
  Ref<RefCounted> owner_;
};

}  // namespace mlx::core::fake
