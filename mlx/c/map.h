// Maps.
#ifndef MLX_C_MAP_H
#define MLX_C_MAP_H

#include "mlx/c/api.h"
#include "mlx/c/array.h"
#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Arrays by name.
typedef struct mlx_map_string_to_array_ {
  void* ctx;
} mlx_map_string_to_array;

/// An empty map; gives `*map` the items of `src`; frees the map.
MLX_C_API mlx_map_string_to_array mlx_map_string_to_array_new(void);
MLX_C_API int mlx_map_string_to_array_set(mlx_map_string_to_array* map,
                                          const mlx_map_string_to_array src);
MLX_C_API int mlx_map_string_to_array_free(mlx_map_string_to_array map);

/// Adds an item, or replaces the one with that key.
MLX_C_API int mlx_map_string_to_array_insert(mlx_map_string_to_array map, const char* key,
                                             const mlx_array value);

/// The value of a key; returns 2, without an error, where there is none.
MLX_C_API int mlx_map_string_to_array_get(mlx_array* value, const mlx_map_string_to_array map,
                                          const char* key);

/// Goes through the keys that the map had when it was made.
typedef struct mlx_map_string_to_array_iterator_ {
  void* ctx;
  void* map_ctx;
} mlx_map_string_to_array_iterator;

/// An iterator before the first item; frees it.
MLX_C_API mlx_map_string_to_array_iterator
mlx_map_string_to_array_iterator_new(mlx_map_string_to_array map);
MLX_C_API int mlx_map_string_to_array_iterator_free(mlx_map_string_to_array_iterator it);

/// The next item; returns 2, without an error, at the end. The map keeps the key.
MLX_C_API int mlx_map_string_to_array_iterator_next(const char** key, mlx_array* value,
                                                    mlx_map_string_to_array_iterator it);

/// Strings by name.
typedef struct mlx_map_string_to_string_ {
  void* ctx;
} mlx_map_string_to_string;

/// An empty map; gives `*map` the items of `src`; frees the map.
MLX_C_API mlx_map_string_to_string mlx_map_string_to_string_new(void);
MLX_C_API int mlx_map_string_to_string_set(mlx_map_string_to_string* map,
                                           const mlx_map_string_to_string src);
MLX_C_API int mlx_map_string_to_string_free(mlx_map_string_to_string map);

/// Adds an item, or replaces the one with that key.
MLX_C_API int mlx_map_string_to_string_insert(mlx_map_string_to_string map, const char* key,
                                              const char* value);

/// The value of a key; returns 2, without an error, where there is none.
MLX_C_API int mlx_map_string_to_string_get(const char** value, const mlx_map_string_to_string map,
                                           const char* key);

/// Goes through the keys that the map had when it was made.
typedef struct mlx_map_string_to_string_iterator_ {
  void* ctx;
  void* map_ctx;
} mlx_map_string_to_string_iterator;

/// An iterator before the first item; frees it.
MLX_C_API mlx_map_string_to_string_iterator
mlx_map_string_to_string_iterator_new(mlx_map_string_to_string map);
MLX_C_API int mlx_map_string_to_string_iterator_free(mlx_map_string_to_string_iterator it);

/// The next item; returns 2, without an error, at the end. The map keeps the key.
MLX_C_API int mlx_map_string_to_string_iterator_next(const char** key, const char** value,
                                                     mlx_map_string_to_string_iterator it);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_MAP_H
