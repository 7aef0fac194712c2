// The devices, with what belongs to each: its context, its memory, its queues, its kernels.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mlx/backend/cuda/allocator.h"
#include "mlx/backend/cuda/cache.h"
#include "mlx/backend/cuda/device/arguments.h"
#include "mlx/backend/cuda/streams.h"

namespace mlx::core::cuda {

/// Pinned host memory in pieces of one size, through which small copies go.
class Staging {
 public:
  static constexpr size_t kPiece = 64 << 10;
  /// A piece. The device's context is current. Throws MemoryError.
  void* take();
  void give(void* piece);

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
};

/// Error records of kernels, in pinned memory that they write to.
class Records {
 public:
  /// An empty one. The device's context is current. Throws MemoryError.
  device::ErrorRecord* take();
  void give(device::ErrorRecord* record);

 private:
  std::mutex mutex_;
  std::vector<device::ErrorRecord*> free_;
};

struct DeviceState {
  explicit DeviceState(int index);
  /// Makes the device's context the calling thread's. Throws ExecutionError in a forked child.
  void enter() const;
  /// The queue of a stream of the engine, made on first use.
  Queue& queue(int stream);
  Queue* find_queue(int stream);
  /// Waits for all queues.
  void drain();
  void poll();

  const int index;
  int ordinal = 0;
  ContextHandle context = nullptr;
  int processors = 1;
  std::string name, architecture, uuid, bus_id;
  int major = 0, minor = 0;
  size_t bytes = 0;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<KernelCache> kernels;
  Staging staging;
  Records records;

 private:
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Queue>> queues_;
};

/// How many devices there are; opens the driver on first use, and no context.
int device_count();
/// The state of a device, whose context is made on first use.
DeviceState& device(int index);
/// Waits for all work on all devices that are in use.
void drain_all();
/// Has that happen at the program's end, before what NVIDIA's libraries that are open now do then.
void drain_at_exit();

/// What threads of the engine enter the plugin through. At the program's end it is closed: those
/// who come then stay there for good, since NVIDIA's libraries may be gone.
class Entrance {
 public:
  Entrance();
  ~Entrance();
  Entrance(const Entrance&) = delete;
};
/// Looks everywhere which work is over.
void poll_all();
/// True on a queue's own thread.
bool on_queue_thread();

}  // namespace mlx::core::cuda
