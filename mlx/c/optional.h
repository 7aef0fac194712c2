// Arguments that may be left out.
#ifndef MLX_C_OPTIONAL_H
#define MLX_C_OPTIONAL_H

#include <stdbool.h>

#include "mlx/c/array.h"

typedef struct mlx_optional_int_ {
  int value;
  bool has_value;
} mlx_optional_int;
typedef struct mlx_optional_float_ {
  float value;
  bool has_value;
} mlx_optional_float;
typedef struct mlx_optional_dtype_ {
  mlx_dtype value;
  bool has_value;
} mlx_optional_dtype;

#endif  // MLX_C_OPTIONAL_H
