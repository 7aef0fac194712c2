// Work of a program's own on streams of the CPU.
#pragma once

#include <functional>

#include "mlx/core/api.h"
#include "mlx/core/device.h"

namespace mlx::core::scheduler {

/// Runs `task` on a stream of the CPU, after all work that was handed to it before; inside a
/// primitive's `eval_cpu`, at once. Its exception is reported as errors of `async_eval` are.
///
///   scheduler::enqueue(default_stream(Device::cpu), [] { puts("done"); });
MLX_API void enqueue(Stream s, std::function<void()> task);
/// The number of tasks that have begun and not ended: of `enqueue`, and by the functions below.
MLX_API int n_active_tasks();
MLX_API void notify_new_task(const Stream& s);
MLX_API void notify_task_completion(const Stream& s);
/// Waits until one of the active tasks has ended, if there are any.
MLX_API void wait_for_one();
/// Throws the first error of the stream's work that has not been reported.
MLX_API void check_error(Stream s);

}  // namespace mlx::core::scheduler
