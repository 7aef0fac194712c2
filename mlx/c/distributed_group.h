// Groups of processes.
#ifndef MLX_C_DISTRIBUTED_GROUP_H
#define MLX_C_DISTRIBUTED_GROUP_H

#include <stdbool.h>

#include "mlx/c/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A group of processes.
typedef struct mlx_distributed_group_ {
  void* ctx;
} mlx_distributed_group;

/// A null handle, which stands for the group of all; frees the handle.
MLX_C_API mlx_distributed_group mlx_distributed_group_new(void);
MLX_C_API int mlx_distributed_group_free(mlx_distributed_group group);

/// The group of all; `bk` is a backend's name, or null for any. With `strict` an error where
/// there is none.
MLX_C_API int mlx_distributed_init(mlx_distributed_group* res, bool strict, const char* bk);
MLX_C_API bool mlx_distributed_is_available(const char* bk);

/// The number of this process, and how many there are; -1 after an error.
MLX_C_API int mlx_distributed_group_rank(mlx_distributed_group group);
MLX_C_API int mlx_distributed_group_size(mlx_distributed_group group);

/// The group of the processes with the same color, in the order of their keys.
MLX_C_API int mlx_distributed_group_split(mlx_distributed_group* res, mlx_distributed_group group,
                                          int color, int key);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_DISTRIBUTED_GROUP_H
