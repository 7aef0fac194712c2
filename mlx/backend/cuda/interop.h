// The plugin's side of backend/interop.h.
#pragma once

#include "mlx/backend/interop.h"

namespace mlx::core::cuda {

class CudaInterop : public Interop {
 public:
  int dlpack_type() const override { return 2; }
  Ref<Buffer> adopt(void* address, size_t bytes, int device, Ref<RefCounted> owner) override;
  void keep_until_idle(Ref<RefCounted> object, int device) override;
  void* handle(Stream s) override;
  void wait_for_handle(void* handle, int device) override;
  Ref<Event> mark(Stream s) override;
};

}  // namespace mlx::core::cuda
