// Streams of the CPU: a queue and a thread each, started when work first has to run behind the
// caller's back. Blocking work on an idle stream runs on the caller's thread.
#pragma once

#include <functional>

#include "mlx/backend/backend.h"

namespace mlx::core::cpu {

/// Runs `work` for the launch: waits for `after`, then calls it, and finishes `done`.
void submit(Launch launch, std::function<void(const Launch&)> work);
/// Waits until the stream's queue is empty.
void drain(Stream s);

}  // namespace mlx::core::cpu
