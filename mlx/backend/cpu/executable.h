// Prepared steps of the CPU, and a launch of them: memory for temporaries, steps one by one, what
// is owed to those that failed.
#pragma once

#include <memory>

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// Host memory; not owned where it was wrapped.
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

/// Makes the executable of some steps.
std::shared_ptr<const Executable> prepare_work(Work work);
/// Waits for what the launch depends on, runs its steps on the calling thread, and finishes its
/// event; where memory is short or the program interrupts, the event keeps the rest.
void run_launch(Launch launch);

}  // namespace mlx::core::cpu
