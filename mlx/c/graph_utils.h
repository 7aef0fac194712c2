// Graphs as text.
#ifndef MLX_C_GRAPH_UTILS_H
#define MLX_C_GRAPH_UTILS_H

#include <stdio.h>

#include "mlx/c/api.h"
#include "mlx/c/array.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Names of arrays in graphs.
typedef struct mlx_node_namer_ {
  void* ctx;
} mlx_node_namer;

/// An object without names; frees it.
MLX_C_API mlx_node_namer mlx_node_namer_new(void);
MLX_C_API int mlx_node_namer_free(mlx_node_namer namer);

/// Names an array; its name, which is a letter where none was set and which the object keeps.
MLX_C_API int mlx_node_namer_set_name(mlx_node_namer namer, const mlx_array arr, const char* name);
MLX_C_API int mlx_node_namer_get_name(const char** name, mlx_node_namer namer, const mlx_array arr);

/// Writes the graph behind the outputs: for Graphviz, or a line for each op.
MLX_C_API int mlx_export_to_dot(FILE* os, const mlx_node_namer namer,
                                const mlx_vector_array outputs);
MLX_C_API int mlx_print_graph(FILE* os, const mlx_node_namer namer, const mlx_vector_array outputs);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_GRAPH_UTILS_H
