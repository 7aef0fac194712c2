// A function in a file: written, read again, and called. The first argument is a folder.
#include <stdio.h>

#include "mlx/c/mlx.h"

/// exp(-x^2)
static int bell(mlx_array* res, const mlx_array x) {
  mlx_stream s = mlx_default_cpu_stream_new();
  int failed = mlx_square(res, x, s) || mlx_negative(res, *res, s) || mlx_exp(res, *res, s);
  mlx_stream_free(s);
  return failed;
}

int main(int argc, char** argv) {
  char path[1000];
  snprintf(path, sizeof path, "%s/bell.mlxfn", argc > 1 ? argv[1] : ".");
  const float numbers[] = {0, 1, 2};
  const int shape[] = {3};
  mlx_array x = mlx_array_new_data(numbers, shape, 1, MLX_FLOAT32);
  mlx_vector_array inputs = mlx_vector_array_new_value(x);
  mlx_closure f = mlx_closure_new_unary(bell);
  int failed = mlx_export_function(path, f, inputs, false);

  mlx_imported_function g = mlx_imported_function_new(path);
  mlx_vector_array results = mlx_vector_array_new();
  failed = failed || mlx_imported_function_apply(&results, g, inputs);
  mlx_array y = mlx_array_new();
  failed = failed || mlx_vector_array_get(&y, results, 0) || mlx_array_eval(y);
  if (!failed) {
    const float* v = mlx_array_data_float32(y);
    printf("imported: %.4f %.4f %.4f\n", v[0], v[1], v[2]);
    failed = v[0] != 1;
  }

  mlx_array_free(y);
  mlx_vector_array_free(results);
  mlx_imported_function_free(g);
  mlx_closure_free(f);
  mlx_vector_array_free(inputs);
  mlx_array_free(x);
  return failed;
}
