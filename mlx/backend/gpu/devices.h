// The devices in use, with what belongs to each: its memory, its queues, its kernels.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "mlx/backend/gpu/memory.h"
#include "mlx/backend/gpu/queue.h"
#include "mlx/backend/gpu/source_cache.h"
#include "mlx/backend/gpu/staging.h"

namespace mlx::core::gpu {

struct DeviceState {
  DeviceState(int index, std::unique_ptr<Hardware> hardware);
  /// Makes the device the calling thread's. Throws ExecutionError in a forked child, unless the
  /// device serves there.
  void enter() const;
  /// The queue of a stream of the engine, made on first use.
  Ref<Queue> queue(int stream);
  Ref<Queue> find_queue(int stream);
  /// Between the two, no thread has the stream: its queue, and one made for work that comes late,
  /// goes when it is idle.
  void release(int stream);
  void acquire(int stream);
  /// Closes the idle queues of streams that no thread has.
  void close_idle();
  /// Waits for all queues.
  void drain();
  void poll();
  /// A kernel of a family, whose texts are in the target's folder: `text` follows the line that
  /// includes them.
  Function kernel(const char* family, const std::string& text, const char* name);

  const int index;
  const std::unique_ptr<Hardware> hardware;
  const int processors;
  const std::unique_ptr<Pool> pool;
  const std::unique_ptr<KernelCache> kernels;
  Staging staging;
  Records records;

 private:
  friend struct Forks;
  std::vector<Ref<Queue>> all_queues();
  std::mutex mutex_;
  std::map<int, Ref<Queue>> queues_;
  std::set<int> released_;  // streams that no thread has
};

/// Says how many devices there are, how one is opened, on first use, and whether a forked child
/// uses them, with fresh queues. Called once.
void set_devices(int count, std::unique_ptr<Hardware> (*open)(int index), bool forks);
/// The state of a device, which is opened on first use.
DeviceState& device(int index);
/// The same of a device that was opened, else null.
DeviceState* device_in_use(int index);
/// Whether the devices can be called: not in a forked child that they do not serve, nor at the
/// program's end.
bool serves();
/// Waits for all work on all devices that are in use.
void drain_all();
/// Has that happen at the program's end, before what libraries that are open now do then.
void drain_at_exit();
/// Ends, everywhere, what is over on the devices.
void poll_all();

/// The door through which threads of the engine enter the room. At the program's end it is closed:
/// threads that come then stay there for good, since libraries of the device may be gone.
class Entrance {
 public:
  Entrance();
  ~Entrance();
  Entrance(const Entrance&) = delete;
  static bool closed();
};
/// True on a queue's own thread.
bool on_queue_thread();

}  // namespace mlx::core::gpu
