// Enumerations of arguments.
#ifndef MLX_C_MODES_H
#define MLX_C_MODES_H

typedef enum mlx_compile_mode_ {
  MLX_COMPILE_MODE_DISABLED,
  MLX_COMPILE_MODE_NO_SIMPLIFY,
  MLX_COMPILE_MODE_NO_FUSE,
  MLX_COMPILE_MODE_ENABLED
} mlx_compile_mode;
/// How transforms are scaled: backward ones by 1/n, both by its root, forward ones by 1/n.
typedef enum mlx_fft_norm_ {
  MLX_FFT_NORM_BACKWARD,
  MLX_FFT_NORM_ORTHO,
  MLX_FFT_NORM_FORWARD
} mlx_fft_norm;

#endif  // MLX_C_MODES_H
