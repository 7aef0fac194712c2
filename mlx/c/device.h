// Devices.
#ifndef MLX_C_DEVICE_H
#define MLX_C_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "mlx/c/api.h"
#include "mlx/c/string.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A device.
typedef struct mlx_device_ {
  void* ctx;
} mlx_device;

typedef enum mlx_device_type_ { MLX_CPU, MLX_GPU } mlx_device_type;

/// A null handle; a device by its type and number; frees the handle; makes `*dev` the device of
/// `src`.
MLX_C_API mlx_device mlx_device_new(void);
MLX_C_API mlx_device mlx_device_new_type(mlx_device_type type, int index);
MLX_C_API int mlx_device_free(mlx_device dev);
MLX_C_API int mlx_device_set(mlx_device* dev, const mlx_device src);

/// The device as text; whether two are the same; number and type.
MLX_C_API int mlx_device_tostring(mlx_string* str, mlx_device dev);
MLX_C_API bool mlx_device_equal(mlx_device lhs, mlx_device rhs);
MLX_C_API int mlx_device_get_index(int* index, mlx_device dev);
MLX_C_API int mlx_device_get_type(mlx_device_type* type, mlx_device dev);

/// The device that functions use unless told otherwise.
MLX_C_API int mlx_get_default_device(mlx_device* dev);
MLX_C_API int mlx_set_default_device(mlx_device dev);

/// Whether there is such a device; how many of a type.
MLX_C_API int mlx_device_is_available(bool* avail, mlx_device dev);
MLX_C_API int mlx_device_count(int* count, mlx_device_type type);

/// Facts about a device by name: strings and sizes.
typedef struct mlx_device_info_ {
  void* ctx;
} mlx_device_info;

/// An empty object; gives it the facts about a device; frees it.
MLX_C_API mlx_device_info mlx_device_info_new(void);
MLX_C_API int mlx_device_info_get(mlx_device_info* info, mlx_device dev);
MLX_C_API int mlx_device_info_free(mlx_device_info info);

/// Whether there is a fact of that name; whether it is a string.
MLX_C_API int mlx_device_info_has_key(bool* exists, mlx_device_info info, const char* key);
MLX_C_API int mlx_device_info_is_string(bool* is_string, mlx_device_info info, const char* key);

/// The value; returns 2, without an error, where there is none of that type. The object keeps
/// the string.
MLX_C_API int mlx_device_info_get_string(const char** value, mlx_device_info info, const char* key);
MLX_C_API int mlx_device_info_get_size(size_t* value, mlx_device_info info, const char* key);

/// The names.
MLX_C_API int mlx_device_info_get_keys(mlx_vector_string* keys, mlx_device_info info);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_DEVICE_H
