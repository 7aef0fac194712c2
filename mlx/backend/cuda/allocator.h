// The memory of one device: blocks that are kept and given out again in stream order.
#pragma once

#include <list>
#include <map>
#include <mutex>

#include "mlx/backend/backend.h"
#include "mlx/backend/cuda/driver.h"

namespace mlx::core::cuda {

class Queue;

/// Work of a queue that uses a block, by its number in the queue.
struct Use {
  Queue* queue;
  uint64_t number;
};

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
  SmallVector<Use, 2> uses = {};
};

/// Blocks that come back are given out at once to the queue that used them last, since its work runs
/// in order, and to others when that work is over.
class Pool final : public MemoryControl {
 public:
  /// `wait_for_all` lets the work on the device end.
  Pool(ContextHandle context, size_t device_bytes, void (*wait_for_all)());
  /// Memory for work on a queue. The device's context is current. Throws MemoryError.
  Block take(size_t bytes, const Queue& queue);
  void give(Block block) noexcept;

  size_t active() const override;
  size_t peak() const override;
  size_t cached() const override;
  void reset_peak() override;
  void clear_cache() override;
  size_t limit(Limit which) const override;
  size_t limit(Limit which, size_t bytes) override;

 private:
  bool reserve(size_t bytes);
  bool find_cached(size_t capacity, const Queue& queue, Block& found);
  bool allocate(size_t capacity, Block& found);
  void trim(size_t most);
  void free_idle_slabs();

  const ContextHandle context_;
  void (*const wait_for_all_)();
  mutable std::mutex mutex_;
  std::multimap<size_t, Block> cache_;  // by capacity
  std::list<Slab> slabs_;  // the last one has room
  size_t active_ = 0, peak_ = 0, cached_ = 0, limits_[3];
};

/// Memory of a device.
class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(Space space, Pool& pool, Block block)
      : Buffer(space, nullptr, block.capacity), pool_(pool), block_(std::move(block)) {}
  ~DeviceBuffer() override { pool_.give(std::move(block_)); }
  Address address() const { return block_.address; }
  /// Notes that work of a queue uses the buffer.
  void mark(Queue& queue, uint64_t number);

 private:
  Pool& pool_;
  std::mutex mutex_;  // of the uses
  Block block_;
};

}  // namespace mlx::core::cuda
