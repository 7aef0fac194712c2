// The device's memory: blocks between guard bytes, poisoned when they are given out and when they
// come back, counted and limited like that of a real device.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "mlx/backend/backend.h"

namespace mlx::core::fake {

struct Block {
  unsigned char* data = nullptr;  ///< on a boundary of 256 bytes
  size_t size = 0;                ///< asked for
  size_t capacity = 0;
};

class Memory final : public MemoryControl {
 public:
  Memory();
  /// Throws MemoryError beyond the hard limit, after waiting for work that holds memory.
  Block take(size_t bytes);
  void give(const Block& block);

  size_t active() const override;
  size_t peak() const override;
  size_t cached() const override;
  void reset_peak() override;
  void clear_cache() override;
  size_t limit(Limit which) const override;
  size_t limit(Limit which, size_t bytes) override;

 private:
  bool reserve(size_t bytes);
  Block find_cached(size_t capacity);
  void trim(size_t most);

  mutable std::mutex mutex_;
  std::multimap<size_t, Block> cache_;  // by capacity
  size_t active_ = 0, peak_ = 0, cached_ = 0, limits_[3];
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
