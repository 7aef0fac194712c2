// Errors. Each thread may cause them; one handler, of the whole process, is told.
#ifndef MLX_C_ERROR_H
#define MLX_C_ERROR_H

#include "mlx/c/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Gets the message, and the pointer that was set with the handler. It is called on the thread of
/// the error; the function that failed then returns.
typedef void (*mlx_error_handler_func)(const char* msg, void* data);

/// Makes `handler` the handler. `dtor(data)` is called when another one is set and no call of
/// this one is left. Null brings back the first handler, which prints the message and ends the
/// program.
MLX_C_API void mlx_set_error_handler(mlx_error_handler_func handler, void* data,
                                     void (*dtor)(void*));

/// Calls the handler with a message, formatted as by printf, and the place. The macro names the
/// place by itself.
MLX_C_API void _mlx_error(const char* file, const int line, const char* fmt, ...);

#define mlx_error(...) _mlx_error(__FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_ERROR_H
