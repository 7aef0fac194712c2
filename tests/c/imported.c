// Calls a function of a file, which another program wrote, for the array 1, 2, 3.
#include <stdio.h>

#include "mlx/c/mlx.h"

int main(int argc, char** argv) {
  const float numbers[] = {1, 2, 3};
  const int shape[] = {3};
  mlx_array x = mlx_array_new_data(numbers, shape, 1, MLX_FLOAT32);
  mlx_vector_array inputs = mlx_vector_array_new_value(x), results = mlx_vector_array_new();
  mlx_imported_function f = mlx_imported_function_new(argv[argc - 1]);
  int failed = mlx_imported_function_apply(&results, f, inputs);
  mlx_string text = mlx_string_new();
  mlx_array y = mlx_array_new();
  failed = failed || mlx_vector_array_get(&y, results, 0) || mlx_array_tostring(&text, y);
  if (!failed)
    printf("%d result: %s\n", (int)mlx_vector_array_size(results), mlx_string_data(text));
  mlx_array_free(y);
  mlx_string_free(text);
  mlx_imported_function_free(f);
  mlx_vector_array_free(results);
  mlx_vector_array_free(inputs);
  mlx_array_free(x);
  return failed;
}
