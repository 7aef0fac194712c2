// Default streams and devices that belong to code, not to a thread.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "mlx/core/device.h"

namespace mlx::core {

/// The stream and the device that a block of a program's code chose as its defaults.
struct StreamChoice {
  Stream stream;
  Device device;
  std::thread::id thread;  ///< that it counts on
  bool open = true;
};
/// Choices within each other, the innermost last. Closed ones do not count.
using StreamChoices = std::vector<std::shared_ptr<StreamChoice>>;
/// Sets the function that gives the choices for the code that calls the engine, null where there
/// are none; it is null itself while no block is open. Blocks of one thread may overlap, such as
/// those of tasks and generators: the choices belong to code, not to the thread.
MLX_API void set_stream_choices(const StreamChoices* (*now)());

}  // namespace mlx::core
