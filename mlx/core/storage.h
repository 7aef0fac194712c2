// The memory of evaluated arrays: one replica per memory space, completion of its last write, pins.
#pragma once

#include <functional>
#include <mutex>

#include "mlx/core/event.h"
#include "mlx/core/ref.h"

namespace mlx::core {

class Backend;
/// Memory of a backend; only that backend knows what is inside.
struct Buffer;

enum class Access { read, write };

/// Bytes that arrays share. A storage is reached by the host through `map` only, and by kernels as
/// (opaque buffer, byte offset).
class Storage : public RefCounted {
 public:
  /// Takes over `buffer`, which `backend` allocated.
  Storage(Backend& backend, Buffer* buffer, size_t bytes)
      : backend_(&backend), buffer_(buffer), bytes_(bytes) {}
  /// Borrows host memory of somebody else until `release` runs (views of NumPy arrays, files).
  Storage(Backend& host, void* data, size_t bytes, std::function<void()> release);
  ~Storage() override;

  size_t bytes() const { return bytes_; }
  Backend& backend() const { return *backend_; }
  Buffer* buffer() const { return buffer_; }

  /// Host address of the bytes: waits for the last write, rethrows its error, and moves the bytes
  /// where the host cannot read them in place. After Access::write the host's bytes are the truth.
  void* map(Access access);
  /// The buffer for kernels of `backend`; copies the bytes over where they are in another space.
  Buffer* buffer_for(Backend& backend);

  /// Completion of the last write; null when it is known to be over.
  Ref<Event> ready;
  /// True where the launch that `ready` belongs to failed, but wrote these bytes all the same.
  std::atomic<bool> intact{false};
  /// Waits for the last write and rethrows its error.
  void wait();

  /// A live export (NumPy view, DLPack, memoryview): the storage is then neither donated nor moved.
  void pin() { pins_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() { pins_.fetch_sub(1, std::memory_order_release); }
  bool pinned() const { return pins_.load(std::memory_order_acquire) != 0; }
  bool borrowed() const { return static_cast<bool>(release_); }

 private:
  void sync_to_owner();

  Backend* backend_;
  Buffer* buffer_;
  size_t bytes_;
  std::atomic<int> pins_{0};
  std::function<void()> release_;
  // The replica in a second memory space, made on demand.
  std::mutex replica_mutex_;
  Backend* other_ = nullptr;
  Buffer* replica_ = nullptr;
  bool replica_valid_ = false;  // holds the same bytes as buffer_
  bool host_writes_ = false;    // the replica is written by the host behind our back
};

}  // namespace mlx::core
