// Kernels given as source. Where the device is missing, making or applying one is an error.
#ifndef MLX_C_FAST_KERNELS_H
#define MLX_C_FAST_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "mlx/c/api.h"
#include "mlx/c/array.h"
#include "mlx/c/stream.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How a kernel for NVIDIA GPUs is called.
typedef struct mlx_fast_cuda_kernel_config_ {
  void* ctx;
} mlx_fast_cuda_kernel_config;

/// An empty object; frees it.
MLX_C_API mlx_fast_cuda_kernel_config mlx_fast_cuda_kernel_config_new(void);
MLX_C_API void mlx_fast_cuda_kernel_config_free(mlx_fast_cuda_kernel_config cls);

/// Adds an output; the number of threads in all and in a group; the value of the outputs before
/// the kernel; whether its text is printed.
MLX_C_API int mlx_fast_cuda_kernel_config_add_output_arg(mlx_fast_cuda_kernel_config cls,
                                                         const int* shape, size_t size,
                                                         mlx_dtype dtype);
MLX_C_API int mlx_fast_cuda_kernel_config_set_grid(mlx_fast_cuda_kernel_config cls, int grid1,
                                                   int grid2, int grid3);
MLX_C_API int mlx_fast_cuda_kernel_config_set_thread_group(mlx_fast_cuda_kernel_config cls,
                                                           int thread1, int thread2, int thread3);
MLX_C_API int mlx_fast_cuda_kernel_config_set_init_value(mlx_fast_cuda_kernel_config cls,
                                                         float value);
MLX_C_API int mlx_fast_cuda_kernel_config_set_verbose(mlx_fast_cuda_kernel_config cls,
                                                      bool verbose);

/// Adds an argument of the kernel's template.
MLX_C_API int mlx_fast_cuda_kernel_config_add_template_arg_dtype(mlx_fast_cuda_kernel_config cls,
                                                                 const char* name, mlx_dtype dtype);
MLX_C_API int mlx_fast_cuda_kernel_config_add_template_arg_int(mlx_fast_cuda_kernel_config cls,
                                                               const char* name, int value);
MLX_C_API int mlx_fast_cuda_kernel_config_add_template_arg_bool(mlx_fast_cuda_kernel_config cls,
                                                                const char* name, bool value);

/// A kernel given as source for NVIDIA GPUs.
typedef struct mlx_fast_cuda_kernel_ {
  void* ctx;
} mlx_fast_cuda_kernel;

/// A kernel; frees it; the arrays that it computes.
MLX_C_API mlx_fast_cuda_kernel mlx_fast_cuda_kernel_new(
    const char* name, const mlx_vector_string input_names, const mlx_vector_string output_names,
    const char* source, const char* header, bool ensure_row_contiguous, int shared_memory);
MLX_C_API void mlx_fast_cuda_kernel_free(mlx_fast_cuda_kernel cls);
MLX_C_API int mlx_fast_cuda_kernel_apply(mlx_vector_array* outputs, mlx_fast_cuda_kernel cls,
                                         const mlx_vector_array inputs,
                                         const mlx_fast_cuda_kernel_config config,
                                         const mlx_stream stream);

/// How a kernel for Metal is called.
typedef struct mlx_fast_metal_kernel_config_ {
  void* ctx;
} mlx_fast_metal_kernel_config;

/// An empty object; frees it.
MLX_C_API mlx_fast_metal_kernel_config mlx_fast_metal_kernel_config_new(void);
MLX_C_API void mlx_fast_metal_kernel_config_free(mlx_fast_metal_kernel_config cls);

/// Adds an output; the number of threads in all and in a group; the value of the outputs before
/// the kernel; whether its text is printed.
MLX_C_API int mlx_fast_metal_kernel_config_add_output_arg(mlx_fast_metal_kernel_config cls,
                                                          const int* shape, size_t size,
                                                          mlx_dtype dtype);
MLX_C_API int mlx_fast_metal_kernel_config_set_grid(mlx_fast_metal_kernel_config cls, int grid1,
                                                    int grid2, int grid3);
MLX_C_API int mlx_fast_metal_kernel_config_set_thread_group(mlx_fast_metal_kernel_config cls,
                                                            int thread1, int thread2, int thread3);
MLX_C_API int mlx_fast_metal_kernel_config_set_init_value(mlx_fast_metal_kernel_config cls,
                                                          float value);
MLX_C_API int mlx_fast_metal_kernel_config_set_verbose(mlx_fast_metal_kernel_config cls,
                                                       bool verbose);

/// Adds an argument of the kernel's template.
MLX_C_API int mlx_fast_metal_kernel_config_add_template_arg_dtype(mlx_fast_metal_kernel_config cls,
                                                                  const char* name,
                                                                  mlx_dtype dtype);
MLX_C_API int mlx_fast_metal_kernel_config_add_template_arg_int(mlx_fast_metal_kernel_config cls,
                                                                const char* name, int value);
MLX_C_API int mlx_fast_metal_kernel_config_add_template_arg_bool(mlx_fast_metal_kernel_config cls,
                                                                 const char* name, bool value);

/// A kernel given as source for Metal.
typedef struct mlx_fast_metal_kernel_ {
  void* ctx;
} mlx_fast_metal_kernel;

/// A kernel; frees it; the arrays that it computes.
MLX_C_API mlx_fast_metal_kernel mlx_fast_metal_kernel_new(
    const char* name, const mlx_vector_string input_names, const mlx_vector_string output_names,
    const char* source, const char* header, bool ensure_row_contiguous, bool atomic_outputs);
MLX_C_API void mlx_fast_metal_kernel_free(mlx_fast_metal_kernel cls);
MLX_C_API int mlx_fast_metal_kernel_apply(mlx_vector_array* outputs, mlx_fast_metal_kernel cls,
                                          const mlx_vector_array inputs,
                                          const mlx_fast_metal_kernel_config config,
                                          const mlx_stream stream);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_FAST_KERNELS_H
