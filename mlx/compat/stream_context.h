// The default device and stream of a block of code.
#pragma once

#include <optional>

#include "mlx/core/device.h"
#include "mlx/core/error.h"

namespace mlx::core {

/// For its lifetime, on the thread that makes it, the default device and stream are those given.
///
///   { StreamContext on(new_stream(Device::cpu)); eval(x + y); }
class StreamContext {
 public:
  explicit StreamContext(StreamOrDevice s) : stream_(default_stream(chosen(s).device)) {
    const Stream to = to_stream(s);
    set_default_stream(to);
    device_ = set_thread_device(to.device);
  }
  ~StreamContext() {
    set_default_stream(stream_);
    set_thread_device(device_);
  }
  StreamContext(const StreamContext&) = delete;

 private:
  static Stream chosen(const StreamOrDevice& s) {
    if (std::holds_alternative<std::monostate>(s))
      fail<ExecutionError>("StreamContext", "nothing; a stream or a device is accepted");
    return to_stream(s);
  }
  std::optional<Device> device_;  ///< the thread's earlier one
  Stream stream_;                 ///< the default of the device that was chosen
};

}  // namespace mlx::core
