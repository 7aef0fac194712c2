// The further interface of backends whose memory other libraries of the process use too: memory
// goes both ways without copies, and programs enqueue work beside the engine's.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/device.h"
#include "mlx/core/storage.h"

namespace mlx::core {

struct MLX_API Interop {
  virtual ~Interop() = default;
  /// DLPack's number for the kind of device.
  virtual int dlpack_type() const = 0;
  /// A buffer over memory of the device that another library allocated. It keeps `owner`, which
  /// keeps the memory, until the last work that uses it is over.
  virtual Ref<Buffer> adopt(void* address, size_t bytes, int device, Ref<RefCounted> owner) = 0;
  /// Keeps an object until all work on the device, of other libraries too, is over.
  virtual void keep_until_idle(Ref<RefCounted> object, int device) = 0;
  /// The device's own handle of a stream: work enqueued there comes after the stream's work.
  virtual void* handle(Stream s) = 0;
  /// Waits until all work on a stream of the device's is over, by its handle.
  virtual void wait_for_handle(void* handle, int device) = 0;
  /// An event that is over when what the stream's handle has been given so far is.
  virtual Ref<Event> mark(Stream s) = 0;
};

/// The interface of a device, or null.
MLX_API Interop* interop_of(Device device);

}  // namespace mlx::core
