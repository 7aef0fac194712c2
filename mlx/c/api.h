// The mark of functions that the library shows.
#ifndef MLX_C_API_H
#define MLX_C_API_H

#define MLX_C_API __attribute__((visibility("default")))

#endif  // MLX_C_API_H
