// The device of the second backend: memory between guard bytes, poisoned when it is given out and
// when it comes back; jobs that start late and out of step.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::fake {

using gpu::Address, gpu::EventHandle, gpu::StreamHandle;

/// Bytes of the device. In discrete mode the host has no address of them.
inline unsigned char* bytes_at(Address address) {
  return reinterpret_cast<unsigned char*>(address);
}

class FakeHardware final : public gpu::Hardware, public gpu::Probe {
 public:
  explicit FakeHardware(bool unified_memory);

  void enter() override {}
  /// Waits a little at random, and while the stream is held.
  void begin(StreamHandle stream) override;
  Address alloc(size_t bytes) override;
  void free(Address address) noexcept override;
  void* alloc_host(size_t bytes) override;
  StreamHandle make_stream(int number) override;
  void free_stream(StreamHandle stream) noexcept override;
  void copy(Way way, Address to, Address from, size_t bytes, StreamHandle) override;
  void launch(const gpu::DeviceCall&, StreamHandle) override {}
  // Work is over when the function that enqueues it returns.
  EventHandle record(StreamHandle) override { return nullptr; }
  void free_event(EventHandle) noexcept override {}
  bool reached(EventHandle, std::exception_ptr&) override { return true; }
  void wait(EventHandle) override {}
  void stream_waits(StreamHandle, EventHandle) override {}
  void wait_stream(StreamHandle) override {}

  void admit(size_t bytes) override;
  void block_taken(Address address, size_t bytes) override;
  void block_given(Address address, size_t bytes) override;
  std::exception_ptr launch_starts() override;
  std::exception_ptr copy_starts() override;
  void launch_ends() override;
  bool holds() override;

 private:
  std::mutex mutex_;
  std::map<Address, size_t> sizes_;  // of blocks that have been allocated
  std::map<Address, size_t> given_;  // that have come back, poisoned
};

/// Stops a stream before its next job; -2 stands for all streams.
void hold(int stream);
void release();

}  // namespace mlx::core::fake
