// Streams: where functions compute.
#ifndef MLX_C_STREAM_H
#define MLX_C_STREAM_H

#include <stdbool.h>

#include "mlx/c/api.h"
#include "mlx/c/device.h"
#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A stream.
typedef struct mlx_stream_ {
  void* ctx;
} mlx_stream;

/// A null handle; a new stream of a device; makes `*stream` the stream of `src`; frees the
/// handle.
MLX_C_API mlx_stream mlx_stream_new(void);
MLX_C_API mlx_stream mlx_stream_new_device(mlx_device dev);
MLX_C_API int mlx_stream_set(mlx_stream* stream, const mlx_stream src);
MLX_C_API int mlx_stream_free(mlx_stream stream);

/// The stream as text; whether two are the same; device and number.
MLX_C_API int mlx_stream_tostring(mlx_string* str, mlx_stream stream);
MLX_C_API bool mlx_stream_equal(mlx_stream lhs, mlx_stream rhs);
MLX_C_API int mlx_stream_get_device(mlx_device* dev, mlx_stream stream);
MLX_C_API int mlx_stream_get_index(int* index, mlx_stream stream);

/// Waits until the stream's work is done.
MLX_C_API int mlx_synchronize(mlx_stream stream);

/// The calling thread's stream of a device where no other is given.
MLX_C_API int mlx_get_default_stream(mlx_stream* stream, mlx_device dev);
MLX_C_API int mlx_set_default_stream(mlx_stream stream);

/// The default stream of the CPU; that of the GPU, an error where there is none.
MLX_C_API mlx_stream mlx_default_cpu_stream_new(void);
MLX_C_API mlx_stream mlx_default_gpu_stream_new(void);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_STREAM_H
