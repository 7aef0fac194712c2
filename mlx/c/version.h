// The version.
#ifndef MLX_C_VERSION_H
#define MLX_C_VERSION_H

#include "mlx/c/api.h"
#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library, as in 0.32.4.
MLX_C_API int mlx_version(mlx_string* str_);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_VERSION_H
