// Arrays of the C interface.
#include "mlx/c/array.h"

#include <cstring>
#include <mutex>
#include <sstream>

#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"
#include "mlx/utils.h"

namespace mlx::c {

namespace {

/// A handle of what `f` makes; null after an error.
template <class F>
mlx_array made(const char* name, F&& f) {
  return result(name, mlx_array{}, [&] { return make<mlx_array>({f()}); });
}

core::Shape shape_of(const int* shape_given, int dim) {
  if (dim < 0) core::fail<core::ValueError>("mlx_array", dim, " axes; 0 or more are accepted");
  return shape_in(shape_given, static_cast<size_t>(dim));
}

array copy_of(const void* data, const int* shape, int dim, mlx_dtype dtype) {
  core::Shape lengths = shape_of(shape, dim);
  if (!data && core::num_elements(lengths))
    core::fail<core::ValueError>("mlx_array", "null for the elements; their address is accepted");
  return array::copy_of(data, std::move(lengths), in(dtype));
}

/// The array works on the memory; `release` is called when it does no more.
array borrowed(void* data, const int* shape, int dim, mlx_dtype dtype, void* payload,
               void (*dtor)(void*)) {
  core::Shape lengths = shape_of(shape, dim);
  const core::Dtype t = in(dtype);
  const auto bytes = static_cast<size_t>(core::num_elements(lengths)) * t.size();
  if (!data && bytes)
    core::fail<core::ValueError>("mlx_array", "null for the elements; their address is accepted");
  if (t == core::bool_ && !core::are_bools(data, bytes)) {
    array copy = array::copy_of(data, std::move(lengths), t);
    if (dtor) dtor(payload);
    return copy;
  }
  return array(data, std::move(lengths), t, [=](void*) {
    if (dtor) dtor(payload);
  });
}

/// Of the shapes and strides in objects: two threads may ask for those of one handle.
std::mutex& geometry() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

const int* shape_of(mlx_array a) {
  ArrayObject& o = get(a);
  const core::Shape& lengths = o.value.shape();
  std::lock_guard lock(geometry());
  if (!o.has_shape) {
    std::vector<int> found;
    for (int64_t n : lengths) found.push_back(as_int(n, "mlx_array_shape"));
    found.push_back(0);  // an address for scalars, too
    o.shape = std::move(found);
    o.has_shape = true;
  }
  return o.shape.data();
}

const size_t* strides_of(mlx_array a) {
  ArrayObject& o = get(a);
  const core::Strides& strides = o.value.strides();
  std::lock_guard lock(geometry());
  if (!o.has_strides) {
    o.strides.assign(strides.begin(), strides.end());
    o.strides.push_back(0);
    o.has_strides = true;
  }
  return o.strides.data();
}

template <class T>
int item(T* res, mlx_array arr, const char* name) {
  return status(name, [&] {
    if (!res) core::fail<core::ValueError>(name, "no place for a result");
    *res = in(arr).item<T>();
  });
}
template <class T>
const T* data(mlx_array arr, const char* name) {
  return result(name, static_cast<const T*>(nullptr),
                [&] { return static_cast<const T*>(in(arr).raw(core::Access::read)); });
}
/// Writes the answer of `f` about an array.
template <class F>
int flag(bool* res, mlx_array arr, const char* name, F&& f) {
  return status(name, [&] { out(res, static_cast<bool>(f(in(arr)))); });
}

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;
namespace core = mlx::core;

extern "C" {

size_t mlx_dtype_size(mlx_dtype dtype) {
  return result(__func__, size_t{0}, [&] { return size_t{in(dtype).size()}; });
}

int mlx_array_tostring(mlx_string* str, const mlx_array arr) {
  return status(__func__, [&] {
    std::ostringstream text;
    text << in(arr);
    assign(str, text.str());
  });
}

mlx_array mlx_array_new(void) { return {}; }
int mlx_array_free(mlx_array arr) {
  return status(__func__, [&] { drop(arr); });
}

mlx_array mlx_array_new_bool(bool val) {
  return made(__func__, [&] { return array(val); });
}
mlx_array mlx_array_new_int(int val) {
  return made(__func__, [&] { return array(val); });
}
mlx_array mlx_array_new_float32(float val) {
  return made(__func__, [&] { return array(val); });
}
mlx_array mlx_array_new_float(float val) { return mlx_array_new_float32(val); }
mlx_array mlx_array_new_float64(double val) {
  return made(__func__, [&] { return array(val, core::float64); });
}
mlx_array mlx_array_new_double(double val) { return mlx_array_new_float64(val); }
mlx_array mlx_array_new_complex(float real_val, float imag_val) {
  return made(__func__, [&] { return array(core::complex64_t(real_val, imag_val)); });
}
mlx_array mlx_array_new_data(const void* data, const int* shape, int dim, mlx_dtype dtype) {
  return made(__func__, [&] { return copy_of(data, shape, dim, dtype); });
}
mlx_array mlx_array_new_data_managed(void* data, const int* shape, int dim, mlx_dtype dtype,
                                     void (*dtor)(void*)) {
  return made(__func__, [&] { return borrowed(data, shape, dim, dtype, data, dtor); });
}
mlx_array mlx_array_new_data_managed_payload(void* data, const int* shape, int dim, mlx_dtype dtype,
                                             void* payload, void (*dtor)(void*)) {
  return made(__func__, [&] { return borrowed(data, shape, dim, dtype, payload, dtor); });
}

int mlx_array_set(mlx_array* arr, const mlx_array src) {
  return status(__func__, [&] { out(arr, in(src)); });
}
int mlx_array_set_bool(mlx_array* arr, bool val) {
  return status(__func__, [&] { out(arr, array(val)); });
}
int mlx_array_set_int(mlx_array* arr, int val) {
  return status(__func__, [&] { out(arr, array(val)); });
}
int mlx_array_set_float32(mlx_array* arr, float val) {
  return status(__func__, [&] { out(arr, array(val)); });
}
int mlx_array_set_float(mlx_array* arr, float val) { return mlx_array_set_float32(arr, val); }
int mlx_array_set_float64(mlx_array* arr, double val) {
  return status(__func__, [&] { out(arr, array(val, core::float64)); });
}
int mlx_array_set_double(mlx_array* arr, double val) { return mlx_array_set_float64(arr, val); }
int mlx_array_set_complex(mlx_array* arr, float real_val, float imag_val) {
  return status(__func__, [&] { out(arr, array(core::complex64_t(real_val, imag_val))); });
}
int mlx_array_set_data(mlx_array* arr, const void* data, const int* shape, int dim,
                       mlx_dtype dtype) {
  return status(__func__, [&] { out(arr, copy_of(data, shape, dim, dtype)); });
}

size_t mlx_array_itemsize(const mlx_array arr) {
  return result(__func__, size_t{0}, [&] { return in(arr).itemsize(); });
}
size_t mlx_array_size(const mlx_array arr) {
  return result(__func__, size_t{0}, [&] { return in(arr).size(); });
}
size_t mlx_array_nbytes(const mlx_array arr) {
  return result(__func__, size_t{0}, [&] { return in(arr).nbytes(); });
}
size_t mlx_array_ndim(const mlx_array arr) {
  return result(__func__, size_t{0}, [&] { return in(arr).ndim(); });
}
const int* mlx_array_shape(const mlx_array arr) {
  return result(__func__, static_cast<const int*>(nullptr), [&] { return shape_of(arr); });
}
const size_t* mlx_array_strides(const mlx_array arr) {
  return result(__func__, static_cast<const size_t*>(nullptr), [&] { return strides_of(arr); });
}
int mlx_array_dim(const mlx_array arr, int dim) {
  return result(__func__, 0, [&] { return as_int(in(arr).shape(dim), "mlx_array_dim"); });
}
mlx_dtype mlx_array_dtype(const mlx_array arr) {
  return static_cast<mlx_dtype>(result(__func__, -1, [&] {
    const core::Dtype t = in(arr).dtype();
    if (t == core::complex128)
      core::fail<core::ValueError>("mlx_array_dtype",
                                   "complex128, which C has no number for; mlx_astype converts it");
    return static_cast<int>(t.val());
  }));
}
int mlx_array_eval(mlx_array arr) {
  return status(__func__, [&] { in(arr).eval(); });
}

int _mlx_array_is_available(bool* res, const mlx_array arr) {
  return flag(res, arr, __func__, [](const array& a) { return a.is_available(); });
}
int _mlx_array_wait(const mlx_array arr) {
  return status(__func__, [&] { in(arr).wait(); });
}
int _mlx_array_is_contiguous(bool* res, const mlx_array arr) {
  return flag(res, arr, __func__, [](const array& a) { return a.flags().contiguous; });
}
int _mlx_array_is_row_contiguous(bool* res, const mlx_array arr) {
  return flag(res, arr, __func__, [](const array& a) { return a.flags().row_contiguous; });
}
int _mlx_array_is_col_contiguous(bool* res, const mlx_array arr) {
  return flag(res, arr, __func__, [](const array& a) { return a.flags().col_contiguous; });
}

#define MLX_C_ELEMENTS(X)                   \
  X(bool, bool, bool)                       \
  X(uint8, uint8_t, uint8_t)                \
  X(uint16, uint16_t, uint16_t)             \
  X(uint32, uint32_t, uint32_t)             \
  X(uint64, uint64_t, uint64_t)             \
  X(int8, int8_t, int8_t)                   \
  X(int16, int16_t, int16_t)                \
  X(int32, int32_t, int32_t)                \
  X(int64, int64_t, int64_t)                \
  X(float16, float16_t, core::float16_t)    \
  X(bfloat16, bfloat16_t, core::bfloat16_t) \
  X(float32, float, float)                  \
  X(float64, double, double)                \
  X(complex64, mlx_complex64_t, core::complex64_t)
#define X(name, C, T)                                      \
  int mlx_array_item_##name(C* res, const mlx_array arr) { \
    static_assert(sizeof(C) == sizeof(T));                 \
    return item(reinterpret_cast<T*>(res), arr, __func__); \
  }                                                        \
  const C* mlx_array_data_##name(const mlx_array arr) { return data<C>(arr, __func__); }
MLX_C_ELEMENTS(X)
#undef X

}  // extern "C"
