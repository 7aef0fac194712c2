// The interface between the engine and a backend (backend/backend.h), written once for devices with
// queues. A device adds how it is opened, which steps it has kernels for, and what it is called.
#pragma once

#include "mlx/backend/gpu/executable.h"

namespace mlx::core::gpu {

class GpuBackend : public Backend {
 public:
  /// `open` opens a device on its first use; `forks`: a forked child uses it too, with fresh
  /// queues.
  GpuBackend(int count, std::unique_ptr<Hardware> (*open)(int index), bool forks = false)
      : count_(count) {
    set_devices(count, open, forks);
  }
  int device_count() const override { return count_; }
  MemoryControl& memory(int index) override { return *device(index).pool; }
  Ref<Buffer> alloc(size_t bytes, Stream stream) override;
  Ref<Buffer> wrap(void* data, size_t bytes, int index, Ref<RefCounted> owner) override;
  void* address(const Buffer& buffer) override;
  void copy(Transfer c) override;
  std::shared_ptr<const Executable> prepare(Work work) override;
  void launch(Launch l) override;
  void synchronize(Stream s) override;
  void release(Stream s) override;
  void acquire(Stream s) override;

 protected:
  /// The kernel of a step, a fused program or an op; null where the CPU runs it, on copies of its
  /// operands. May compile.
  virtual std::unique_ptr<const OpKernel> prepare_step(const Step& step, DeviceState& device) = 0;

 private:
  const int count_;
};

}  // namespace mlx::core::gpu
