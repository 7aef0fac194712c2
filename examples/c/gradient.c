// A gradient through a function of the program, which is a closure with data of its own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mlx/c/mlx.h"

/// sum(scale * x^2), of which the derivative is 2 * scale * x. `scale` is the payload.
static int scaled_squares(mlx_vector_array* res, const mlx_vector_array input, void* payload) {
  mlx_stream s = mlx_default_cpu_stream_new();
  mlx_array x = mlx_array_new(), scale = mlx_array_new_float(*(float*)payload);
  int failed = mlx_vector_array_get(&x, input, 0) || mlx_square(&x, x, s) ||
               mlx_multiply(&x, x, scale, s) || mlx_sum(&x, x, false, s) ||
               mlx_vector_array_set_value(res, x);
  mlx_array_free(x);
  mlx_array_free(scale);
  mlx_stream_free(s);
  return failed;
}

int main(void) {
  float* scale = malloc(sizeof *scale);
  *scale = 1.5f;
  mlx_closure f = mlx_closure_new_func_payload(scaled_squares, scale, free);
  const int first = 0;
  mlx_closure_value_and_grad g = mlx_closure_value_and_grad_new();
  mlx_value_and_grad(&g, f, &first, 1);

  const float numbers[] = {1, 2, 3};
  const int shape[] = {3};
  mlx_array x = mlx_array_new_data(numbers, shape, 1, MLX_FLOAT32);
  mlx_vector_array inputs = mlx_vector_array_new_value(x);
  mlx_vector_array values = mlx_vector_array_new(), gradients = mlx_vector_array_new();
  mlx_closure_value_and_grad_apply(&values, &gradients, g, inputs);

  mlx_array value = mlx_array_new(), gradient = mlx_array_new();
  mlx_vector_array_get(&value, values, 0);
  mlx_vector_array_get(&gradient, gradients, 0);
  float sum = 0;
  mlx_array_item_float32(&sum, value);
  const float* d = mlx_array_data_float32(gradient);
  printf("value %g, gradient %g %g %g\n", sum, d[0], d[1], d[2]);
  int right = sum == 21 && d[0] == 3 && d[1] == 6 && d[2] == 9;

  mlx_array_free(value);
  mlx_array_free(gradient);
  mlx_vector_array_free(values);
  mlx_vector_array_free(gradients);
  mlx_vector_array_free(inputs);
  mlx_array_free(x);
  mlx_closure_value_and_grad_free(g);
  mlx_closure_free(f);
  return right ? 0 : 1;
}
