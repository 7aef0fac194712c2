// Answers of the namespaces gpu, metal and cu from the registered backends.
#include "mlx/compat/gpu.h"

#include "mlx/core/capture.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom_kernel.h"

namespace mlx::core {

bool gpu::is_available() { return core::is_available(Device(Device::gpu)); }
int gpu::device_count() { return core::device_count(Device::gpu); }
const DeviceInfo& gpu::device_info(int index) {
  return core::device_info(Device(Device::gpu, index));
}

bool metal::is_available() { return has_metal(); }
void metal::start_capture(const std::string& path) {
  if (has_metal()) core::start_capture(Device(Device::gpu), path);
}
void metal::stop_capture() {
  if (has_metal()) core::stop_capture(Device(Device::gpu));
}
const DeviceInfo& metal::device_info() {
  if (has_metal()) return gpu::device_info();
  fail<ExecutionError>("metal::device_info", "there is no Metal backend");
}

bool cu::is_available() { return gpu::is_available(); }

}  // namespace mlx::core
