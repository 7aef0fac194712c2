// Memory and streams of the GPU for other libraries.
#include "mlx/backend/cuda/interop.h"

#include "mlx/backend/cuda/hardware.h"
#include "mlx/core/blocking.h"

namespace mlx::core::cuda {

namespace {

using gpu::device;

Ref<Queue> queue_of(Stream s) { return device(s.device.index).queue(s.index); }

}  // namespace

Ref<Buffer> CudaInterop::adopt(void* address, size_t bytes, int index, Ref<RefCounted> owner) {
  return make_ref<gpu::AdoptedMemory>(space_of(Device(Device::gpu, index)), nullptr,
                                      reinterpret_cast<Address>(address), bytes, std::move(owner));
}

void CudaInterop::keep_until_idle(Ref<RefCounted> object, int index) {
  // The other library's streams may be gone by now: the whole device is waited for, on the queue's
  // own thread.
  queue_of(Stream(kCopyStream, Device(Device::gpu, index)))
      ->submit(
          [object = std::move(object)]() mutable {
            driver().wait_context();
            object = {};
          },
          true);
}

void* CudaInterop::handle(Stream s) { return queue_of(s)->stream(); }

void CudaInterop::wait_for_handle(void* handle, int index) {
  device(index).enter();
  BlockingRegion region;
  check(driver().wait_stream(static_cast<StreamHandle>(handle)), "work of another library");
}

Ref<Event> CudaInterop::mark(Stream s) {
  Ref<Queue> queue = queue_of(s);
  auto completion = make_ref<gpu::DeviceCompletion>(queue);
  auto end = make_ref<Event>();
  end->set_completion(completion);
  queue->submit(
      [queue = queue.get(), completion = std::move(completion)]() mutable {
        queue->finish({.completion = std::move(completion)});
      },
      false);
  end->set_launched();
  return end;
}

}  // namespace mlx::core::cuda
