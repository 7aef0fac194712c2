// Errors of asynchronous evaluations that were not thrown yet: `synchronize` throws the first.
#pragma once

#include "mlx/runtime/execute.h"

namespace mlx::core {

/// Remembers the launches of an execution until they have ended well, or their error was thrown.
void watch_errors(const Execution& x);
/// Throws the first error of the stream's launches that was not thrown yet.
void throw_unseen_error(Stream stream);

}  // namespace mlx::core
