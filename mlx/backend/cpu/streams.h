// Streams of the CPU: a queue and a thread each, started when work first has to run asynchronously.
// Blocking work on an idle stream runs on the caller's thread.
#pragma once

#include <functional>

#include "mlx/backend/backend.h"

namespace mlx::core::cpu {

/// Runs `job` on the stream's thread, after all jobs submitted before. The job must not throw.
void submit(Stream s, std::function<void()> job);
/// True if work that the caller waits for may run on the calling thread: nothing is queued or
/// running on the stream, and the caller has enough stack for kernels.
bool runs_here(Stream s);
/// Waits until the stream's queue is empty.
void drain(Stream s);

}  // namespace mlx::core::cpu
