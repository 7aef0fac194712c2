// The part of the interface that is the same for all devices with queues.
#include "mlx/backend/gpu/backend.h"

namespace mlx::core::gpu {

Ref<Buffer> GpuBackend::alloc(size_t bytes, Stream stream) {
  Entrance here;
  return take_memory(bytes, stream);
}

Ref<Buffer> GpuBackend::wrap(void* data, size_t bytes, int index, Ref<RefCounted> owner) {
  Entrance here;
  Hardware& hardware = *device(index).hardware;
  const Address address = hardware.wrap(data, bytes);
  if (!address) return {};
  return make_ref<WrappedMemory>(space_of(Device(Device::gpu, index)), data, address, bytes,
                                 std::move(owner), hardware);
}

void* GpuBackend::address(const Buffer& buffer) {
  return reinterpret_cast<void*>(address_of(buffer));
}

void GpuBackend::copy(Transfer c) {
  Entrance here;
  start_copy(std::move(c));
}

std::shared_ptr<const Executable> GpuBackend::prepare(Work work) {
  Entrance here;
  DeviceState& state = device(work.device.index);
  return prepare_work(std::move(work), state,
                      [&](const Step& step) { return prepare_step(step, state); });
}

void GpuBackend::launch(Launch l) {
  Entrance here;
  start_launch(std::move(l));
}

// Streams of a device that was never used have no queues. At the end of a program the driver may be
// gone already, so that the device cannot be opened.

void GpuBackend::synchronize(Stream s) {
  Entrance here;
  if (!device_in_use(s.device.index)) return;
  if (Ref<Queue> queue = device(s.device.index).find_queue(s.index)) queue->drain(true);
}

void GpuBackend::release(Stream s) {
  if (Entrance::closed() || !device_in_use(s.device.index)) return;
  Entrance here;
  device(s.device.index).release(s.index);
}
void GpuBackend::acquire(Stream s) {
  if (!device_in_use(s.device.index)) return;
  Entrance here;
  device(s.device.index).acquire(s.index);
}

}  // namespace mlx::core::gpu
