// Prepared steps of the CPU, and their launches: memory for temporaries, execution of the steps in
// order, and handling of failures.
#pragma once

#include <memory>

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// Host memory; not owned if it was wrapped.
class CpuBuffer final : public Buffer {
 public:
  explicit CpuBuffer(const HostBlock& block)
      : Buffer(Space::host, block.ptr, block.capacity), block_(block) {}
  CpuBuffer(void* data, size_t bytes, Ref<RefCounted> owner)
      : Buffer(Space::host, data, bytes), owner_(std::move(owner)) {}
  ~CpuBuffer() override {
    if (block_.ptr) free_block(block_);
  }

 private:
  HostBlock block_;
  Ref<RefCounted> owner_;
};

/// Makes the executable of a list of steps.
std::shared_ptr<const Executable> prepare_work(Work work);
/// Waits for the dependencies of the launch, runs its steps on the calling thread, and completes
/// its event. If memory is insufficient or the wait is interrupted, the event keeps the rest of the
/// work.
void run_launch(Launch launch);

}  // namespace mlx::core::cpu
