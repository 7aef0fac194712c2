// The threads that compute on the CPU.
#pragma once

#include "mlx/core/api.h"

namespace mlx::core {

/// The number of threads that an operation may use, including the one that starts it. At first
/// `MLX_NUM_THREADS`, or the cores that the process may use. Throws std::runtime_error if that
/// variable is malformed and no number was set.
MLX_API int get_num_threads();

/// Sets the number of threads, 1 to 1024; throws ValueError otherwise. It may be called at any
/// time, also while other threads evaluate: an operation that runs is finished with the threads
/// that it has. Results do not depend on the number. Throws ExecutionError inside a task of an
/// operation.
MLX_API void set_num_threads(int threads);

}  // namespace mlx::core
