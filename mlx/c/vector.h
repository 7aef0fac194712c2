// Lists.
#ifndef MLX_C_VECTOR_H
#define MLX_C_VECTOR_H

#include <stddef.h>

#include "mlx/c/api.h"
#include "mlx/c/array.h"
#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A list of arrays.
typedef struct mlx_vector_array_ {
  void* ctx;
} mlx_vector_array;

/// A list: empty, of `size` items, of one item.
MLX_C_API mlx_vector_array mlx_vector_array_new(void);
MLX_C_API mlx_vector_array mlx_vector_array_new_data(const mlx_array* data, size_t size);
MLX_C_API mlx_vector_array mlx_vector_array_new_value(const mlx_array val);

/// Gives `*vec` other items.
MLX_C_API int mlx_vector_array_set(mlx_vector_array* vec, const mlx_vector_array src);
MLX_C_API int mlx_vector_array_set_data(mlx_vector_array* vec, const mlx_array* data, size_t size);
MLX_C_API int mlx_vector_array_set_value(mlx_vector_array* vec, const mlx_array val);

/// Adds items at the end.
MLX_C_API int mlx_vector_array_append_data(mlx_vector_array vec, const mlx_array* data,
                                           size_t size);
MLX_C_API int mlx_vector_array_append_value(mlx_vector_array vec, const mlx_array val);

/// The number of items, and an item.
MLX_C_API size_t mlx_vector_array_size(mlx_vector_array vec);
MLX_C_API int mlx_vector_array_get(mlx_array* res, const mlx_vector_array vec, size_t idx);

/// Frees the list.
MLX_C_API int mlx_vector_array_free(mlx_vector_array vec);

/// A list of lists of arrays.
typedef struct mlx_vector_vector_array_ {
  void* ctx;
} mlx_vector_vector_array;

/// A list: empty, of `size` items, of one item.
MLX_C_API mlx_vector_vector_array mlx_vector_vector_array_new(void);
MLX_C_API mlx_vector_vector_array mlx_vector_vector_array_new_data(const mlx_vector_array* data,
                                                                   size_t size);
MLX_C_API mlx_vector_vector_array mlx_vector_vector_array_new_value(const mlx_vector_array val);

/// Gives `*vec` other items.
MLX_C_API int mlx_vector_vector_array_set(mlx_vector_vector_array* vec,
                                          const mlx_vector_vector_array src);
MLX_C_API int mlx_vector_vector_array_set_data(mlx_vector_vector_array* vec,
                                               const mlx_vector_array* data, size_t size);
MLX_C_API int mlx_vector_vector_array_set_value(mlx_vector_vector_array* vec,
                                                const mlx_vector_array val);

/// Adds items at the end.
MLX_C_API int mlx_vector_vector_array_append_data(mlx_vector_vector_array vec,
                                                  const mlx_vector_array* data, size_t size);
MLX_C_API int mlx_vector_vector_array_append_value(mlx_vector_vector_array vec,
                                                   const mlx_vector_array val);

/// The number of items, and an item.
MLX_C_API size_t mlx_vector_vector_array_size(mlx_vector_vector_array vec);
MLX_C_API int mlx_vector_vector_array_get(mlx_vector_array* res, const mlx_vector_vector_array vec,
                                          size_t idx);

/// Frees the list.
MLX_C_API int mlx_vector_vector_array_free(mlx_vector_vector_array vec);

/// A list of ints.
typedef struct mlx_vector_int_ {
  void* ctx;
} mlx_vector_int;

/// A list: empty, of `size` items, of one item.
MLX_C_API mlx_vector_int mlx_vector_int_new(void);
MLX_C_API mlx_vector_int mlx_vector_int_new_data(int* data, size_t size);
MLX_C_API mlx_vector_int mlx_vector_int_new_value(int val);

/// Gives `*vec` other items.
MLX_C_API int mlx_vector_int_set(mlx_vector_int* vec, const mlx_vector_int src);
MLX_C_API int mlx_vector_int_set_data(mlx_vector_int* vec, int* data, size_t size);
MLX_C_API int mlx_vector_int_set_value(mlx_vector_int* vec, int val);

/// Adds items at the end.
MLX_C_API int mlx_vector_int_append_data(mlx_vector_int vec, int* data, size_t size);
MLX_C_API int mlx_vector_int_append_value(mlx_vector_int vec, int val);

/// The number of items, and an item.
MLX_C_API size_t mlx_vector_int_size(mlx_vector_int vec);
MLX_C_API int mlx_vector_int_get(int* res, const mlx_vector_int vec, size_t idx);

/// Frees the list.
MLX_C_API int mlx_vector_int_free(mlx_vector_int vec);

/// A list of strings.
typedef struct mlx_vector_string_ {
  void* ctx;
} mlx_vector_string;

/// A list: empty, of `size` items, of one item.
MLX_C_API mlx_vector_string mlx_vector_string_new(void);
MLX_C_API mlx_vector_string mlx_vector_string_new_data(const char** data, size_t size);
MLX_C_API mlx_vector_string mlx_vector_string_new_value(const char* val);

/// Gives `*vec` other items.
MLX_C_API int mlx_vector_string_set(mlx_vector_string* vec, const mlx_vector_string src);
MLX_C_API int mlx_vector_string_set_data(mlx_vector_string* vec, const char** data, size_t size);
MLX_C_API int mlx_vector_string_set_value(mlx_vector_string* vec, const char* val);

/// Adds items at the end.
MLX_C_API int mlx_vector_string_append_data(mlx_vector_string vec, const char** data, size_t size);
MLX_C_API int mlx_vector_string_append_value(mlx_vector_string vec, const char* val);

/// The number of items, and an item. The list keeps the text until it changes.
MLX_C_API size_t mlx_vector_string_size(mlx_vector_string vec);
MLX_C_API int mlx_vector_string_get(char** res, const mlx_vector_string vec, size_t idx);

/// Frees the list.
MLX_C_API int mlx_vector_string_free(mlx_vector_string vec);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_VECTOR_H
