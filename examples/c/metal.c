// A kernel for Metal, of which there is no backend: the error is told to the program's handler.
#include <stdio.h>

#include "mlx/c/mlx.h"

static void on_error(const char* message, void* count) {
  printf("refused: %s\n", message);
  ++*(int*)count;
}

int main(void) {
  int errors = 0;
  mlx_set_error_handler(on_error, &errors, NULL);
  bool available = true;
  mlx_metal_is_available(&available);
  printf("Metal: %s\n", available ? "yes" : "no");

  mlx_stream s = mlx_default_cpu_stream_new();
  const char *input = "x", *output = "y";
  mlx_vector_string inputs = mlx_vector_string_new_value(input);
  mlx_vector_string outputs = mlx_vector_string_new_value(output);
  mlx_fast_metal_kernel kernel = mlx_fast_metal_kernel_new(
      "copy", inputs, outputs, "y[thread_position_in_grid.x] = x[thread_position_in_grid.x];", "",
      true, false);
  mlx_fast_metal_kernel_config config = mlx_fast_metal_kernel_config_new();
  const int shape[] = {4};
  mlx_fast_metal_kernel_config_add_output_arg(config, shape, 1, MLX_FLOAT32);
  mlx_fast_metal_kernel_config_set_grid(config, 4, 1, 1);
  mlx_array x = mlx_array_new();
  mlx_ones(&x, shape, 1, MLX_FLOAT32, s);
  mlx_vector_array given = mlx_vector_array_new_value(x), results = mlx_vector_array_new();
  int failed = mlx_fast_metal_kernel_apply(&results, kernel, given, config, s);

  mlx_vector_array_free(results);
  mlx_vector_array_free(given);
  mlx_array_free(x);
  mlx_fast_metal_kernel_config_free(config);
  mlx_fast_metal_kernel_free(kernel);
  mlx_vector_string_free(inputs);
  mlx_vector_string_free(outputs);
  mlx_stream_free(s);
  mlx_set_error_handler(NULL, NULL, NULL);
  return !available && failed && errors == 1 ? 0 : 1;
}
