// Arrays and dtypes. Functions return 0, or 1 after the error handler was called (mlx/c/error.h);
// a function that returns something else returns null, 0 or false then.
#ifndef MLX_C_ARRAY_H
#define MLX_C_ARRAY_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlx/c/api.h"
#include "mlx/c/half.h"
#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A complex number: C's type, which C++ headers write with an extension.
#ifdef _MSC_VER
#include <complex.h>
typedef _Fcomplex mlx_complex64_t;
#elif defined(__GNUC__)
__extension__ typedef float _Complex mlx_complex64_t;
#else
typedef float _Complex mlx_complex64_t;
#endif

/// An array. A function with a result of this type gives `*res` a value: null handles become
/// handles of new arrays, and others get another array. Each handle that is not null is freed
/// once.
typedef struct mlx_array_ {
  void* ctx;
} mlx_array;

/// The null handle.
static const mlx_array mlx_array_empty = {0};

/// Types of elements. Arrays of complex128, which this list lacks, have no dtype here.
typedef enum mlx_dtype_ {
  MLX_BOOL,
  MLX_UINT8,
  MLX_UINT16,
  MLX_UINT32,
  MLX_UINT64,
  MLX_INT8,
  MLX_INT16,
  MLX_INT32,
  MLX_INT64,
  MLX_FLOAT16,
  MLX_FLOAT32,
  MLX_FLOAT64,
  MLX_BFLOAT16,
  MLX_COMPLEX64
} mlx_dtype;

/// Bytes of an element.
MLX_C_API size_t mlx_dtype_size(mlx_dtype dtype);

/// The elements as text, as Python prints them.
MLX_C_API int mlx_array_tostring(mlx_string* str, const mlx_array arr);

/// A null handle.
MLX_C_API mlx_array mlx_array_new(void);

/// Frees the handle, and the array when no other handle or graph uses it.
MLX_C_API int mlx_array_free(mlx_array arr);

/// Scalars: bool, int32, float32, float64, complex64.
MLX_C_API mlx_array mlx_array_new_bool(bool val);
MLX_C_API mlx_array mlx_array_new_int(int val);
MLX_C_API mlx_array mlx_array_new_float32(float val);
MLX_C_API mlx_array mlx_array_new_float(float val);
MLX_C_API mlx_array mlx_array_new_float64(double val);
MLX_C_API mlx_array mlx_array_new_double(double val);
MLX_C_API mlx_array mlx_array_new_complex(float real_val, float imag_val);

/// An array with a copy of `data`: row-major elements of `dtype`, with `dim` lengths of axes in
/// `shape`.
MLX_C_API mlx_array mlx_array_new_data(const void* data, const int* shape, int dim,
                                       mlx_dtype dtype);

/// An array that works on `data` itself. `dtor(data)`, or `dtor(payload)`, is called on any
/// thread when it is no longer used. After an error the memory is still the caller's.
MLX_C_API mlx_array mlx_array_new_data_managed(void* data, const int* shape, int dim,
                                               mlx_dtype dtype, void (*dtor)(void*));
MLX_C_API mlx_array mlx_array_new_data_managed_payload(void* data, const int* shape, int dim,
                                                       mlx_dtype dtype, void* payload,
                                                       void (*dtor)(void*));

/// Makes `*arr` another array: that of `src`, a scalar, or a copy of data.
MLX_C_API int mlx_array_set(mlx_array* arr, const mlx_array src);
MLX_C_API int mlx_array_set_bool(mlx_array* arr, bool val);
MLX_C_API int mlx_array_set_int(mlx_array* arr, int val);
MLX_C_API int mlx_array_set_float32(mlx_array* arr, float val);
MLX_C_API int mlx_array_set_float(mlx_array* arr, float val);
MLX_C_API int mlx_array_set_float64(mlx_array* arr, double val);
MLX_C_API int mlx_array_set_double(mlx_array* arr, double val);
MLX_C_API int mlx_array_set_complex(mlx_array* arr, float real_val, float imag_val);
MLX_C_API int mlx_array_set_data(mlx_array* arr, const void* data, const int* shape, int dim,
                                 mlx_dtype dtype);

/// Bytes of an element, number of elements, bytes of all elements, number of axes.
MLX_C_API size_t mlx_array_itemsize(const mlx_array arr);
MLX_C_API size_t mlx_array_size(const mlx_array arr);
MLX_C_API size_t mlx_array_nbytes(const mlx_array arr);
MLX_C_API size_t mlx_array_ndim(const mlx_array arr);

/// The lengths of the axes; an error where one does not fit into an int. The handle keeps them
/// until it is set or freed.
MLX_C_API const int* mlx_array_shape(const mlx_array arr);

/// The distance of neighbours along each axis, in elements; evaluates. Negative strides are
/// taken modulo 2^64. The handle keeps them until it is set or freed.
MLX_C_API const size_t* mlx_array_strides(const mlx_array arr);

/// The length of an axis; negative axes count from the end.
MLX_C_API int mlx_array_dim(const mlx_array arr, int dim);

/// The dtype; -1 after an error.
MLX_C_API mlx_dtype mlx_array_dtype(const mlx_array arr);

/// Computes the array and waits.
MLX_C_API int mlx_array_eval(mlx_array arr);

/// The only element, converted to the type; evaluates. An error for arrays with another number
/// of elements.
MLX_C_API int mlx_array_item_bool(bool* res, const mlx_array arr);
MLX_C_API int mlx_array_item_uint8(uint8_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_uint16(uint16_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_uint32(uint32_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_uint64(uint64_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_int8(int8_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_int16(int16_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_int32(int32_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_int64(int64_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_float32(float* res, const mlx_array arr);
MLX_C_API int mlx_array_item_float64(double* res, const mlx_array arr);
MLX_C_API int mlx_array_item_complex64(mlx_complex64_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_float16(float16_t* res, const mlx_array arr);
MLX_C_API int mlx_array_item_bfloat16(bfloat16_t* res, const mlx_array arr);

/// The address of the first element; evaluates. Elements are of the array's dtype, whatever the
/// function is called. Null after an error.
MLX_C_API const bool* mlx_array_data_bool(const mlx_array arr);
MLX_C_API const uint8_t* mlx_array_data_uint8(const mlx_array arr);
MLX_C_API const uint16_t* mlx_array_data_uint16(const mlx_array arr);
MLX_C_API const uint32_t* mlx_array_data_uint32(const mlx_array arr);
MLX_C_API const uint64_t* mlx_array_data_uint64(const mlx_array arr);
MLX_C_API const int8_t* mlx_array_data_int8(const mlx_array arr);
MLX_C_API const int16_t* mlx_array_data_int16(const mlx_array arr);
MLX_C_API const int32_t* mlx_array_data_int32(const mlx_array arr);
MLX_C_API const int64_t* mlx_array_data_int64(const mlx_array arr);
MLX_C_API const float* mlx_array_data_float32(const mlx_array arr);
MLX_C_API const double* mlx_array_data_float64(const mlx_array arr);
MLX_C_API const mlx_complex64_t* mlx_array_data_complex64(const mlx_array arr);
MLX_C_API const float16_t* mlx_array_data_float16(const mlx_array arr);
MLX_C_API const bfloat16_t* mlx_array_data_bfloat16(const mlx_array arr);

/// Whether the array is computed; waits until it is; how its elements lie in memory (evaluates).
MLX_C_API int _mlx_array_is_available(bool* res, const mlx_array arr);
MLX_C_API int _mlx_array_wait(const mlx_array arr);
MLX_C_API int _mlx_array_is_contiguous(bool* res, const mlx_array arr);
MLX_C_API int _mlx_array_is_row_contiguous(bool* res, const mlx_array arr);
MLX_C_API int _mlx_array_is_col_contiguous(bool* res, const mlx_array arr);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_ARRAY_H
