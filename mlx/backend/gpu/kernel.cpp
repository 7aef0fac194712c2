// Temporary memory of steps.
#include "mlx/backend/gpu/kernel.h"

namespace mlx::core::gpu {

namespace {

struct TakenBlock {
  TakenBlock(Pool& from, size_t bytes) : pool(from), block(from.take(bytes)) {}
  ~TakenBlock() { pool.give(std::move(block)); }
  TakenBlock(const TakenBlock&) = delete;

  Pool& pool;
  Block block;
};

}  // namespace

uint64_t Enqueue::take(size_t bytes) const {
  auto taken = std::make_shared<TakenBlock>(*device().pool, bytes);
  kept->push_back(taken);
  return taken->block.address;
}

}  // namespace mlx::core::gpu
