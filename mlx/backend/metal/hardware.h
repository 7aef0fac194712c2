// A GPU of Metal as the room of GPUs knows it: buffers by their addresses, command buffers as
// events.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "metal-cpp/metal.h"
#include "mlx/backend/gpu/device.h"

namespace mlx::core::metal {

using gpu::Address, gpu::EventHandle, gpu::FunctionHandle, gpu::DeviceCall, gpu::StreamHandle;

/// Buffers by where they begin on one side, the device or the host.
class BufferTable {
 public:
  void add(Address begin, const ::metal::Buffer& buffer);
  void remove(Address begin);
  /// The place where the other side has an address; false where no buffer has it.
  bool find(Address address, Address& place) const;

 private:
  struct Range {
    Address size, other;  ///< bytes; the begin on the other side
  };
  std::map<Address, Range> ranges_;
};

class MetalHardware final : public gpu::Hardware {
 public:
  MetalHardware();
  ~MetalHardware() override;

  void enter() override {}
  Address alloc(size_t bytes) override;
  void free(Address address) noexcept override;
  void* alloc_host(size_t bytes) override;
  Address seen_by_device(const void* place) override;
  void* seen_by_host(Address address) override;
  Address wrap(void* host, size_t bytes) override;
  void unwrap(void* host) noexcept override;
  StreamHandle make_stream(int) override;
  void free_stream(StreamHandle stream) noexcept override;
  void copy(Way way, Address to, Address from, size_t bytes, StreamHandle stream) override;
  void launch(const DeviceCall& kernel, StreamHandle stream) override;
  EventHandle record(StreamHandle stream) override;
  void free_event(EventHandle event) noexcept override;
  bool reached(EventHandle event, std::exception_ptr& fault) override;
  void wait(EventHandle event) override;
  void stream_waits(StreamHandle stream, EventHandle event) override;
  void wait_stream(StreamHandle stream) override;
  std::string compile(const std::string& source) override;
  FunctionHandle load(const std::string& code, const char* name, void*& module) override;
  void unload(void* module) noexcept override;
  const gpu::KernelTarget* target() const override;

  const ::metal::Device& device() const { return device_; }
  /// Bytes that were copied between the host's memory and the device's, for tests.
  size_t copied() const { return copied_; }
  /// As in backend/capture.h.
  void start_capture(const std::string& path);
  void stop_capture();

  /// An argument of a kernel that a program brings: memory of the device, or bytes that are copied.
  struct Argument {
    Address address;
    std::span<const std::byte> bytes;
  };
  /// Threads of the whole grid, and of a threadgroup.
  struct Grid {
    unsigned long threads[3], group[3];
  };
  /// Enqueues such a kernel; its buffers are the arguments.
  void run(FunctionHandle kernel, const Grid& grid, std::span<const Argument> arguments,
           StreamHandle stream);
  /// Most threads that a threadgroup of a kernel has.
  static unsigned long most_threads(FunctionHandle kernel);

 private:
  struct Stream;
  struct Recorded;
  struct Module;
  static Stream& stream_of(StreamHandle handle);
  static Recorded& event_of(EventHandle handle);
  /// The encoder of the stream's open command buffer, which may use all buffers.
  ::metal::Encoder& encoder(Stream& s);
  /// Gives the open command buffer to the queue.
  void commit(Stream& s);

  /// Keeps a buffer, and lets encoders use it; gives its address.
  Address keep(::metal::Buffer buffer);
  void forget(Address address);

  /// Throws ExecutionError in a child of fork, where no work of the parent's ever ends.
  void check_process() const;

  const int process_;
  ::metal::Device device_;
  std::shared_mutex mutex_;
  std::map<Address, ::metal::Buffer> buffers_;
  BufferTable by_device_, by_host_;
  /// Memory of the host with a buffer over it.
  struct Wrapped {
    size_t bytes;
    Address address;
    int users;
  };
  std::map<Address, Wrapped> wrapped_;
  std::atomic<size_t> copied_ = 0;
  uint64_t version_ = 1;  ///< of the buffers
};

}  // namespace mlx::core::metal
