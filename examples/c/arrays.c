// Arrays and linear algebra: solves a system of equations and looks at the result.
#include <math.h>
#include <stdio.h>

#include "mlx/c/mlx.h"

static void show(const char* name, mlx_array a) {
  mlx_string text = mlx_string_new();
  mlx_array_tostring(&text, a);
  printf("%s: %s\n", name, mlx_string_data(text));
  mlx_string_free(text);
}

int main(void) {
  const float numbers[] = {4, 1, 2, 3};
  const float right[] = {1, 2};
  const int square[] = {2, 2}, column[] = {2};
  mlx_stream s = mlx_default_cpu_stream_new();
  mlx_array a = mlx_array_new_data(numbers, square, 2, MLX_FLOAT32);
  mlx_array b = mlx_array_new_data(right, column, 1, MLX_FLOAT32);
  mlx_array x = mlx_array_new(), back = mlx_array_new(), same = mlx_array_new();

  mlx_linalg_solve(&x, a, b, s);
  mlx_matmul(&back, a, x, s);
  mlx_allclose(&same, back, b, 1e-5, 1e-6, false, s);
  show("x", x);
  show("a x", back);
  bool right_back = false;
  mlx_array_item_bool(&right_back, same);

  // Results are computed when they are asked for; these are 2 x 2 numbers of the transposed matrix.
  mlx_array turned = mlx_array_new();
  mlx_transpose(&turned, a, s);
  mlx_array_eval(turned);
  const int* shape = mlx_array_shape(turned);
  const size_t* strides = mlx_array_strides(turned);
  const float* data = mlx_array_data_float32(turned);
  printf("transposed: %d x %d, first row %g %g\n", shape[0], shape[1], data[0], data[strides[1]]);

  mlx_array_free(a);
  mlx_array_free(b);
  mlx_array_free(x);
  mlx_array_free(back);
  mlx_array_free(same);
  mlx_array_free(turned);
  mlx_stream_free(s);
  return right_back ? 0 : 1;
}
