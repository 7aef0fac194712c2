// Functions in files.
#ifndef MLX_C_EXPORT_H
#define MLX_C_EXPORT_H

#include <stdbool.h>

#include "mlx/c/api.h"
#include "mlx/c/closure.h"
#include "mlx/c/map.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Writes what `fun` computes of arrays like these to a file; with `shapeless`, of arrays of any
/// lengths.
MLX_C_API int mlx_export_function(const char* file, const mlx_closure fun,
                                  const mlx_vector_array args, bool shapeless);
MLX_C_API int mlx_export_function_kwargs(const char* file, const mlx_closure_kwargs fun,
                                         const mlx_vector_array args,
                                         const mlx_map_string_to_array kwargs, bool shapeless);

/// Writes a function for several kinds of arguments to one file.
typedef struct mlx_function_exporter_ {
  void* ctx;
} mlx_function_exporter;

/// Begins a file; ends it and frees the handle.
MLX_C_API mlx_function_exporter mlx_function_exporter_new(const char* file, const mlx_closure fun,
                                                          bool shapeless);
MLX_C_API int mlx_function_exporter_free(mlx_function_exporter xfunc);

/// Adds the function for arguments like these.
MLX_C_API int mlx_function_exporter_apply(const mlx_function_exporter xfunc,
                                          const mlx_vector_array args);
MLX_C_API int mlx_function_exporter_apply_kwargs(const mlx_function_exporter xfunc,
                                                 const mlx_vector_array args,
                                                 const mlx_map_string_to_array kwargs);

/// A function from a file.
typedef struct mlx_imported_function_ {
  void* ctx;
} mlx_imported_function;

/// Reads a file; frees the handle.
MLX_C_API mlx_imported_function mlx_imported_function_new(const char* file);
MLX_C_API int mlx_imported_function_free(mlx_imported_function xfunc);

/// Calls the function; an error for arguments that it was not written for.
MLX_C_API int mlx_imported_function_apply(mlx_vector_array* res, const mlx_imported_function xfunc,
                                          const mlx_vector_array args);
MLX_C_API int mlx_imported_function_apply_kwargs(mlx_vector_array* res,
                                                 const mlx_imported_function xfunc,
                                                 const mlx_vector_array args,
                                                 const mlx_map_string_to_array kwargs);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_EXPORT_H
