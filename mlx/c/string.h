// Strings.
#ifndef MLX_C_STRING_H
#define MLX_C_STRING_H

#include <stddef.h>

#include "mlx/c/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A string of bytes without NUL.
typedef struct mlx_string_ {
  void* ctx;
} mlx_string;

/// An empty string; a copy of `str`.
MLX_C_API mlx_string mlx_string_new(void);
MLX_C_API mlx_string mlx_string_new_data(const char* str);

/// Gives `*str` the text of `src`.
MLX_C_API int mlx_string_set(mlx_string* str, const mlx_string src);

/// The text, which the string keeps until it is set or freed; null on an error.
MLX_C_API const char* mlx_string_data(mlx_string str);

/// Frees the string.
MLX_C_API int mlx_string_free(mlx_string str);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_STRING_H
