// The memory of evaluated arrays: a replica in each memory space that needs one, completion of the
// last write, pins.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "mlx/core/api.h"
#include "mlx/core/device.h"
#include "mlx/core/event.h"
#include "mlx/core/ref.h"

namespace mlx::core {

/// A memory space: that of one device, numbered as backends register.
enum class Space : uint8_t { host = 0 };
inline constexpr int kMaxSpaces = 64;
/// A set of spaces, a bit each.
using Spaces = uint64_t;
constexpr Spaces spaces(Space s) { return Spaces{1} << static_cast<int>(s); }

/// Memory in one space. Backends derive from it; the destructor gives the memory back, at any time
/// and from any thread.
class MLX_API Buffer : public RefCounted {
 public:
  Buffer(Space space, void* host, size_t bytes) : space(space), host(host), bytes(bytes) {}
  Buffer(const Buffer&) = delete;
  const Space space;
  void* const host;    ///< where the host reads and writes the bytes in place, or null
  const size_t bytes;  ///< the size of the allocation
  /// The spaces whose kernels can work on it.
  Spaces usable() const { return spaces(space) | (host ? spaces(Space::host) : 0); }
};

enum class Access { read, write };

/// Bytes that arrays share. All replicas hold the same bytes: a write to one drops the others.
class MLX_API Storage : public RefCounted {
 public:
  /// Takes the first `bytes` of the buffer.
  Storage(Ref<Buffer> buffer, size_t bytes);
  /// Borrows host memory with another owner (a NumPy array, a file). `release` runs on any thread,
  /// once neither the storage nor a launch needs the memory.
  Storage(void* data, size_t bytes, std::function<void()> release);

  size_t bytes() const { return bytes_; }
  /// Spaces whose kernels find the bytes there.
  Spaces present() const;
  /// A replica that kernels of the space can use, or null.
  Ref<Buffer> replica(Space space) const;
  /// The replica in the space, for work on a stream, and the event that the work waits for, or
  /// null. Starts a copy of the bytes where the space has none, without waiting.
  Ref<Buffer> bring(Space space, Stream stream, Ref<Event>& arrival);
  /// Makes the replica in the space the result of the launch that ends in `end`; drops the others.
  Ref<Buffer> start_write(Space space, Ref<Event> end);

  /// Host address of the bytes: waits for the last write, rethrows its error, and copies the bytes
  /// to the host where it cannot access them in place. Write access drops the other replicas.
  void* map(Access access);
  /// Copies only a range of the bytes to the host; waits and rethrows as `map`.
  void read(void* to, int64_t offset, size_t bytes);

  /// Completion of the last write; null where it is known to be over.
  Ref<Event> ready;
  /// True where the last launch failed before it wrote the bytes.
  bool spoiled() const { return ready && ready->failed() && !ready->wrote(written_); }
  /// True where the bytes can be read without a wait.
  bool settled() const { return !ready || (ready->done() && !spoiled()); }
  /// Waits for the last write and rethrows its error.
  void wait();

  /// Pins the storage for a live export (NumPy view, DLPack, memoryview), which may write at any
  /// time: its memory is neither reused nor moved, and a copy of it serves one launch.
  void pin() { pins_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() { pins_.fetch_sub(1, std::memory_order_release); }
  bool pinned() const { return pins_.load(std::memory_order_acquire) != 0; }
  bool borrowed() const { return borrowed_; }

  /// An event that is done, to which launches and copies that read the bytes keep a reference, even
  /// while they are suspended.
  Ref<Event> reading();
  /// Notes that a launch without a reference to `reading()` may still read the bytes.
  void note_read() { noted_read_ = true; }
  /// True where a launch or a copy may still read the bytes. The caller has the only reference to
  /// the storage: other threads could start further ones.
  bool being_read() const;

 private:
  struct Replica {
    Ref<Buffer> buffer;
    Ref<Event> arrival;  // end of the copy that fills it; null: `ready` stands for it
  };
  const Replica* find(Space space) const;
  const Ref<Event>& reading_mark();
  Replica make_copy(Space space, Stream stream);
  void keep(Replica copy);
  void update_present();

  Replica primary_;
  std::vector<Replica> others_;
  const Buffer* written_;  // the buffer of the launch that `ready` ends
  std::atomic<Spaces> present_;
  size_t bytes_;
  std::atomic<int> pins_{0};
  Ref<Event> reading_;
  std::atomic<bool> noted_read_{false};
  bool borrowed_ = false;
  mutable std::mutex mutex_;  // of the replicas
};

}  // namespace mlx::core
