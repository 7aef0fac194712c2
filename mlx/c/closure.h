// Functions as objects. A function of the program sets its results and returns 0; another value is
// an error of the call that led to it. It may be called on the thread that transforms or calls it.
#ifndef MLX_C_CLOSURE_H
#define MLX_C_CLOSURE_H

#include "mlx/c/api.h"
#include "mlx/c/array.h"
#include "mlx/c/map.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A function of arrays.
typedef struct mlx_closure_ {
  void* ctx;
} mlx_closure;

/// A null handle; frees the handle; makes `*cls` the function of `src`.
MLX_C_API mlx_closure mlx_closure_new(void);
MLX_C_API int mlx_closure_free(mlx_closure cls);
MLX_C_API int mlx_closure_set(mlx_closure* cls, const mlx_closure src);

/// The function that calls `fun`, with `payload` as its last argument. `dtor(payload)` is called
/// when nothing uses the function any more.
MLX_C_API mlx_closure mlx_closure_new_func(int (*fun)(mlx_vector_array*, const mlx_vector_array));
MLX_C_API mlx_closure mlx_closure_new_func_payload(int (*fun)(mlx_vector_array*,
                                                              const mlx_vector_array, void*),
                                                   void* payload, void (*dtor)(void*));
MLX_C_API mlx_closure mlx_closure_new_unary(int (*fun)(mlx_array*, const mlx_array));

/// Calls the function.
MLX_C_API int mlx_closure_apply(mlx_vector_array* res, mlx_closure cls,
                                const mlx_vector_array input);

/// A function of arrays, some of which have names.
typedef struct mlx_closure_kwargs_ {
  void* ctx;
} mlx_closure_kwargs;

/// A null handle; frees the handle; makes `*cls` the function of `src`.
MLX_C_API mlx_closure_kwargs mlx_closure_kwargs_new(void);
MLX_C_API int mlx_closure_kwargs_free(mlx_closure_kwargs cls);
MLX_C_API int mlx_closure_kwargs_set(mlx_closure_kwargs* cls, const mlx_closure_kwargs src);

/// The function that calls `fun`, with `payload` as its last argument. `dtor(payload)` is called
/// when nothing uses the function any more.
MLX_C_API mlx_closure_kwargs mlx_closure_kwargs_new_func(int (*fun)(mlx_vector_array*,
                                                                    const mlx_vector_array,
                                                                    const mlx_map_string_to_array));
MLX_C_API mlx_closure_kwargs mlx_closure_kwargs_new_func_payload(
    int (*fun)(mlx_vector_array*, const mlx_vector_array, const mlx_map_string_to_array, void*),
    void* payload, void (*dtor)(void*));

/// Calls the function.
MLX_C_API int mlx_closure_kwargs_apply(mlx_vector_array* res, mlx_closure_kwargs cls,
                                       const mlx_vector_array input_0,
                                       const mlx_map_string_to_array input_1);

/// The function that `mlx_value_and_grad` makes: results, then gradients.
typedef struct mlx_closure_value_and_grad_ {
  void* ctx;
} mlx_closure_value_and_grad;

/// A null handle; frees the handle; makes `*cls` the function of `src`.
MLX_C_API mlx_closure_value_and_grad mlx_closure_value_and_grad_new(void);
MLX_C_API int mlx_closure_value_and_grad_free(mlx_closure_value_and_grad cls);
MLX_C_API int mlx_closure_value_and_grad_set(mlx_closure_value_and_grad* cls,
                                             const mlx_closure_value_and_grad src);

/// The function that calls `fun`, with `payload` as its last argument. `dtor(payload)` is called
/// when nothing uses the function any more.
MLX_C_API mlx_closure_value_and_grad mlx_closure_value_and_grad_new_func(
    int (*fun)(mlx_vector_array*, mlx_vector_array*, const mlx_vector_array));
MLX_C_API mlx_closure_value_and_grad mlx_closure_value_and_grad_new_func_payload(
    int (*fun)(mlx_vector_array*, mlx_vector_array*, const mlx_vector_array, void*), void* payload,
    void (*dtor)(void*));

/// Calls the function.
MLX_C_API int mlx_closure_value_and_grad_apply(mlx_vector_array* res_0, mlx_vector_array* res_1,
                                               mlx_closure_value_and_grad cls,
                                               const mlx_vector_array input);

/// The rule of a vector-Jacobian product: of the arguments, the cotangents and the results of a
/// function, the cotangents of the arguments.
typedef struct mlx_closure_custom_ {
  void* ctx;
} mlx_closure_custom;

/// A null handle; frees the handle; makes `*cls` the function of `src`.
MLX_C_API mlx_closure_custom mlx_closure_custom_new(void);
MLX_C_API int mlx_closure_custom_free(mlx_closure_custom cls);
MLX_C_API int mlx_closure_custom_set(mlx_closure_custom* cls, const mlx_closure_custom src);

/// The function that calls `fun`, with `payload` as its last argument. `dtor(payload)` is called
/// when nothing uses the function any more.
MLX_C_API mlx_closure_custom mlx_closure_custom_new_func(int (*fun)(
    mlx_vector_array*, const mlx_vector_array, const mlx_vector_array, const mlx_vector_array));
MLX_C_API mlx_closure_custom mlx_closure_custom_new_func_payload(
    int (*fun)(mlx_vector_array*, const mlx_vector_array, const mlx_vector_array,
               const mlx_vector_array, void*),
    void* payload, void (*dtor)(void*));

/// Calls the function.
MLX_C_API int mlx_closure_custom_apply(mlx_vector_array* res, mlx_closure_custom cls,
                                       const mlx_vector_array input_0,
                                       const mlx_vector_array input_1,
                                       const mlx_vector_array input_2);

/// The rule of a Jacobian-vector product: of the arguments, the tangents and the numbers of the
/// arguments that have them, the tangents of the results.
typedef struct mlx_closure_custom_jvp_ {
  void* ctx;
} mlx_closure_custom_jvp;

/// A null handle; frees the handle; makes `*cls` the function of `src`.
MLX_C_API mlx_closure_custom_jvp mlx_closure_custom_jvp_new(void);
MLX_C_API int mlx_closure_custom_jvp_free(mlx_closure_custom_jvp cls);
MLX_C_API int mlx_closure_custom_jvp_set(mlx_closure_custom_jvp* cls,
                                         const mlx_closure_custom_jvp src);

/// The function that calls `fun`, with `payload` as its last argument. `dtor(payload)` is called
/// when nothing uses the function any more.
MLX_C_API mlx_closure_custom_jvp mlx_closure_custom_jvp_new_func(int (*fun)(
    mlx_vector_array*, const mlx_vector_array, const mlx_vector_array, const int*, size_t _num));
MLX_C_API mlx_closure_custom_jvp mlx_closure_custom_jvp_new_func_payload(
    int (*fun)(mlx_vector_array*, const mlx_vector_array, const mlx_vector_array, const int*,
               size_t _num, void*),
    void* payload, void (*dtor)(void*));

/// Calls the function.
MLX_C_API int mlx_closure_custom_jvp_apply(mlx_vector_array* res, mlx_closure_custom_jvp cls,
                                           const mlx_vector_array input_0,
                                           const mlx_vector_array input_1, const int* input_2,
                                           size_t input_2_num);

/// The rule of vmap: of the arguments and their mapped axes (-1: none), the results and theirs.
typedef struct mlx_closure_custom_vmap_ {
  void* ctx;
} mlx_closure_custom_vmap;

/// A null handle; frees the handle; makes `*cls` the function of `src`.
MLX_C_API mlx_closure_custom_vmap mlx_closure_custom_vmap_new(void);
MLX_C_API int mlx_closure_custom_vmap_free(mlx_closure_custom_vmap cls);
MLX_C_API int mlx_closure_custom_vmap_set(mlx_closure_custom_vmap* cls,
                                          const mlx_closure_custom_vmap src);

/// The function that calls `fun`, with `payload` as its last argument. `dtor(payload)` is called
/// when nothing uses the function any more.
MLX_C_API mlx_closure_custom_vmap mlx_closure_custom_vmap_new_func(int (*fun)(
    mlx_vector_array*, mlx_vector_int*, const mlx_vector_array, const int*, size_t _num));
MLX_C_API mlx_closure_custom_vmap mlx_closure_custom_vmap_new_func_payload(
    int (*fun)(mlx_vector_array*, mlx_vector_int*, const mlx_vector_array, const int*, size_t _num,
               void*),
    void* payload, void (*dtor)(void*));

/// Calls the function.
MLX_C_API int mlx_closure_custom_vmap_apply(mlx_vector_array* res_0, mlx_vector_int* res_1,
                                            mlx_closure_custom_vmap cls,
                                            const mlx_vector_array input_0, const int* input_1,
                                            size_t input_1_num);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_CLOSURE_H
