// The C interface from C: results and errors of each part. Prints "passed".
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlx/c/mlx.h"

static int errors = 0;
static char last[500];
static mlx_stream s;

static void on_error(const char* message, void* data) {
  (void)data;
  ++errors;
  strncpy(last, message, sizeof last - 1);
}

static void check(int holds, const char* text, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: not true: %s (last error: %s)\n", line, text, last);
  exit(1);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
/// The call returns 1 after one error with the text in its message.
#define FAILS(call, text)              \
  do {                                 \
    const int before = errors;         \
    CHECK((call) == 1);                \
    CHECK(errors == before + 1);       \
    CHECK(strstr(last, text) != NULL); \
  } while (0)

static mlx_array numbers(int n) {
  mlx_array a = mlx_array_new();
  CHECK(mlx_arange(&a, 0, n, 1, MLX_FLOAT32, s) == 0);
  return a;
}
static float number(mlx_array a) {
  float v = NAN;
  CHECK(mlx_array_item_float32(&v, a) == 0);
  return v;
}

static int deleted = 0;
static void count_delete(void* p) {
  ++deleted;
  free(p);
}

/// What a library that was built with other headers of this interface counts on.
static void binary_interface(void) {
  CHECK(sizeof(mlx_array) == sizeof(void*) && sizeof(mlx_closure) == sizeof(void*));
  CHECK(sizeof(mlx_map_string_to_array_iterator) == 2 * sizeof(void*));
  CHECK(MLX_BOOL == 0 && MLX_INT32 == 7 && MLX_FLOAT16 == 9 && MLX_FLOAT64 == 11);
  CHECK(MLX_BFLOAT16 == 12 && MLX_COMPLEX64 == 13 && MLX_GPU == 1);
  CHECK(MLX_COMPILE_MODE_ENABLED == 3 && MLX_FFT_NORM_FORWARD == 2);
  CHECK(sizeof(mlx_optional_float) == 8 && sizeof(mlx_io_vtable) == 9 * sizeof(void*));
}

static void arrays(void) {
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  const int shape[2] = {2, 3};
  mlx_array a = mlx_array_new_data(data, shape, 2, MLX_INT32), t = mlx_array_new();
  CHECK(mlx_array_ndim(a) == 2 && mlx_array_size(a) == 6 && mlx_array_nbytes(a) == 24);
  CHECK(mlx_array_itemsize(a) == 4 && mlx_array_dtype(a) == MLX_INT32);
  CHECK(mlx_array_shape(a)[1] == 3 && mlx_array_dim(a, -1) == 3);
  CHECK(mlx_array_shape(a) == mlx_array_shape(a));
  CHECK(mlx_transpose(&t, a, s) == 0 && mlx_array_strides(t)[0] == 1 && mlx_array_strides(t)[1] == 3);
  CHECK(mlx_array_data_int32(a)[5] == 6);
  bool flag = true;
  CHECK(_mlx_array_is_row_contiguous(&flag, t) == 0 && !flag);
  CHECK(_mlx_array_is_col_contiguous(&flag, t) == 0 && flag);
  CHECK(_mlx_array_wait(t) == 0 && _mlx_array_is_available(&flag, t) == 0 && flag);

  // Other handles of the same array stay as they are.
  mlx_array copy = mlx_array_new();
  CHECK(mlx_array_set(&copy, a) == 0 && mlx_array_set_float(&a, 2.5f) == 0);
  CHECK(mlx_array_ndim(a) == 0 && mlx_array_ndim(copy) == 2 && number(a) == 2.5f);
  CHECK(mlx_array_shape(a) != NULL);
  uint8_t byte = 0;
  CHECK(mlx_array_item_uint8(&byte, a) == 0 && byte == 2);
  FAILS(mlx_array_item_uint8(&byte, copy), "(2,3)");

  mlx_array c = mlx_array_new_complex(1, 2);
  mlx_complex64_t z;
  CHECK(mlx_array_item_complex64(&z, c) == 0 && crealf(z) == 1 && cimagf(z) == 2);
  CHECK(mlx_array_set_double(&c, 0.1) == 0 && mlx_array_dtype(c) == MLX_FLOAT64);
  double d = 0;
  CHECK(mlx_array_item_float64(&d, c) == 0 && d == 0.1);
  float16_t half;
  bfloat16_t brain;
  CHECK(mlx_array_item_float16(&half, a) == 0 && mlx_array_item_bfloat16(&brain, a) == 0);
  uint16_t bits;
  memcpy(&bits, &half, 2);
  CHECK(bits == 0x4100);

  float* lent = malloc(3 * sizeof *lent);
  lent[0] = lent[1] = lent[2] = 7;
  const int three[1] = {3};
  mlx_array view = mlx_array_new_data_managed(lent, three, 1, MLX_FLOAT32, count_delete);
  CHECK(mlx_array_data_float32(view) == lent && deleted == 0);
  CHECK(mlx_array_free(view) == 0 && deleted == 1);
  CHECK(mlx_array_new_data_managed(NULL, three, 1, MLX_FLOAT32, count_delete).ctx == NULL);

  mlx_string text = mlx_string_new();
  CHECK(mlx_array_tostring(&text, copy) == 0 && strstr(mlx_string_data(text), "[4, 5, 6]"));
  CHECK(mlx_dtype_size(MLX_BFLOAT16) == 2);
  mlx_string_free(text);
  mlx_array_free(a);
  mlx_array_free(t);
  mlx_array_free(c);
  mlx_array_free(copy);
}

static void sizes(void) {
  // 2^40 elements, none of them in memory.
  const int one[1] = {1}, many[1] = {1 << 20};
  mlx_array a = mlx_array_new(), b = mlx_array_new(), c = mlx_array_new();
  CHECK(mlx_ones(&a, one, 1, MLX_INT8, s) == 0 && mlx_broadcast_to(&a, a, many, 1, s) == 0);
  CHECK(mlx_reshape(&b, a, (const int[]){1 << 20, 1}, 2, s) == 0 && mlx_add(&c, a, b, s) == 0);
  CHECK(mlx_array_size(c) == (size_t)1 << 40 && mlx_array_shape(c)[0] == 1 << 20);
  CHECK(mlx_flatten(&c, c, 0, 1, s) == 0);
  const int before = errors;
  CHECK(mlx_array_shape(c) == NULL && errors == before + 1);
  CHECK(mlx_array_dim(c, 0) == 0 && errors == before + 2);
  // A dtype that C has no number for.
  mlx_array wide = mlx_array_new_double(1);
  CHECK(mlx_reshape(&wide, wide, one, 1, s) == 0);
  CHECK(mlx_fft_fft(&wide, wide, 1, 0, MLX_FFT_NORM_BACKWARD, s) == 0);
  CHECK((int)mlx_array_dtype(wide) == -1 && strstr(last, "complex128"));
  mlx_array_free(a);
  mlx_array_free(b);
  mlx_array_free(c);
  mlx_array_free(wide);
}

static void bad_handles(void) {
  mlx_array a = numbers(3), none = mlx_array_new(), res = mlx_array_new();
  FAILS(mlx_add(&res, a, none, s), "null handle");
  FAILS(mlx_add(&res, a, a, mlx_stream_new()), "null handle");
  FAILS(mlx_add(NULL, a, a, s), "no place");
  CHECK(res.ctx == NULL);
  mlx_array wrong = {s.ctx}, outside = {&a};
  FAILS(mlx_exp(&res, wrong, s), "another kind");
  FAILS(mlx_exp(&res, outside, s), "no handle");
  CHECK(mlx_array_free(a) == 0);
  FAILS(mlx_array_free(a), "freed");
  FAILS(mlx_exp(&res, a, s), "freed");
  CHECK(mlx_array_free(none) == 0);
  FAILS(mlx_astype(&res, a, MLX_BOOL, s), "freed");
  mlx_array b = numbers(3);
  FAILS(mlx_astype(&res, b, (mlx_dtype)14, s), "14");
  FAILS(mlx_reshape(&res, b, NULL, 2, s), "null");
  FAILS(mlx_einsum(&res, NULL, mlx_vector_array_new(), s), "null");
  FAILS(mlx_reshape(&res, b, (const int[]){4}, 1, s), "reshape");
  mlx_array_free(b);
}

static void lists(void) {
  mlx_array a = numbers(2), b = mlx_array_new_int(5), item = mlx_array_new();
  const mlx_array both[2] = {a, b};
  mlx_vector_array v = mlx_vector_array_new_data(both, 2);
  CHECK(mlx_vector_array_append_value(v, a) == 0 && mlx_vector_array_size(v) == 3);
  CHECK(mlx_vector_array_get(&item, v, 1) == 0 && number(item) == 5);
  FAILS(mlx_vector_array_get(&item, v, 3), "item 3 of 3");
  FAILS(mlx_vector_array_append_data(v, NULL, 2), "null");
  mlx_vector_vector_array w = mlx_vector_vector_array_new_value(v);
  mlx_vector_array back = mlx_vector_array_new();
  CHECK(mlx_vector_vector_array_get(&back, w, 0) == 0 && mlx_vector_array_size(back) == 3);
  mlx_vector_int ints = mlx_vector_int_new_value(3);
  int n = 0;
  CHECK(mlx_vector_int_append_value(ints, 4) == 0 && mlx_vector_int_get(&n, ints, 1) == 0 && n == 4);
  mlx_vector_string names = mlx_vector_string_new_value("first");
  char* name = NULL;
  CHECK(mlx_vector_string_append_value(names, "second") == 0);
  CHECK(mlx_vector_string_get(&name, names, 1) == 0 && strcmp(name, "second") == 0);

  mlx_map_string_to_array map = mlx_map_string_to_array_new();
  CHECK(mlx_map_string_to_array_insert(map, "a", a) == 0);
  CHECK(mlx_map_string_to_array_insert(map, "b", b) == 0);
  CHECK(mlx_map_string_to_array_get(&item, map, "a") == 0 && mlx_array_size(item) == 2);
  const int before = errors;
  CHECK(mlx_map_string_to_array_get(&item, map, "c") == 2 && errors == before);
  mlx_map_string_to_array_iterator it = mlx_map_string_to_array_iterator_new(map);
  const char* key = NULL;
  int count = 0;
  while (mlx_map_string_to_array_iterator_next(&key, &item, it) == 0) count += key[0];
  CHECK(count == 'a' + 'b' && errors == before);
  mlx_map_string_to_array_free(map);
  mlx_map_string_to_array_iterator_free(it);
  it = mlx_map_string_to_array_iterator_new((mlx_map_string_to_array){NULL});
  CHECK(it.ctx == NULL);
  mlx_vector_array_free(v);
  mlx_vector_array_free(back);
  mlx_vector_vector_array_free(w);
  mlx_vector_int_free(ints);
  mlx_vector_string_free(names);
  mlx_array_free(a);
  mlx_array_free(b);
  mlx_array_free(item);
}

static int cube(mlx_array* res, const mlx_array x) {
  return mlx_multiply(res, x, x, s) || mlx_multiply(res, *res, x, s);
}
static int refusing(mlx_vector_array* res, const mlx_vector_array in) {
  (void)res, (void)in;
  return 42;
}
static int twice_tangent(mlx_vector_array* res, const mlx_vector_array primals,
                         const mlx_vector_array tangents, const int* argnums, size_t n) {
  (void)primals;
  mlx_array t = mlx_array_new(), two = mlx_array_new_float(2);
  int failed = n != 1 || argnums[0] != 0 || mlx_vector_array_get(&t, tangents, 0) ||
               mlx_multiply(&t, t, two, s) || mlx_vector_array_append_value(*res, t);
  mlx_array_free(t);
  mlx_array_free(two);
  return failed;
}
static int ten(mlx_vector_array* res, const mlx_vector_array primals,
               const mlx_vector_array cotangents, const mlx_vector_array outputs) {
  CHECK(mlx_vector_array_size(primals) == 1 && mlx_vector_array_size(outputs) == 1);
  mlx_array g = mlx_array_new(), factor = mlx_array_new_float(10);
  int failed = mlx_vector_array_get(&g, cotangents, 0) || mlx_multiply(&g, g, factor, s) ||
               mlx_vector_array_set_value(res, g);
  mlx_array_free(g);
  mlx_array_free(factor);
  return failed;
}

static float first_of(mlx_vector_array v) {
  mlx_array a = mlx_array_new();
  CHECK(mlx_vector_array_get(&a, v, 0) == 0);
  const float x = number(a);
  mlx_array_free(a);
  return x;
}

static void functions(void) {
  mlx_array x = mlx_array_new_float(2), one = mlx_array_new_float(1);
  mlx_vector_array in = mlx_vector_array_new_value(x), ones = mlx_vector_array_new_value(one);
  mlx_vector_array out = mlx_vector_array_new(), second = mlx_vector_array_new();
  mlx_closure f = mlx_closure_new_unary(cube), g = mlx_closure_new();
  CHECK(mlx_closure_apply(&out, f, in) == 0 && first_of(out) == 8);
  CHECK(mlx_compile(&g, f, false) == 0 && mlx_closure_apply(&out, g, in) == 0 && first_of(out) == 8);
  CHECK(mlx_checkpoint(&g, f) == 0 && mlx_vjp(&out, &second, g, in, ones) == 0);
  CHECK(first_of(second) == 12);
  CHECK(mlx_jvp(&out, &second, f, in, ones) == 0 && first_of(second) == 12);
  CHECK(mlx_detail_compile(&g, f, 99, false, NULL, 0) == 0 && mlx_closure_apply(&out, g, in) == 0);
  CHECK(mlx_detail_compile_erase(99) == 0 && mlx_detail_compile_clear_cache() == 0);

  mlx_closure_custom vjp = mlx_closure_custom_new_func(ten);
  mlx_closure_custom_jvp jvp = mlx_closure_custom_jvp_new_func(twice_tangent);
  CHECK(mlx_custom_vjp(&g, f, vjp) == 0 && mlx_vjp(&out, &second, g, in, ones) == 0);
  CHECK(first_of(second) == 10);
  CHECK(mlx_custom_function(&g, f, mlx_closure_custom_new(), jvp, mlx_closure_custom_vmap_new()) == 0);
  CHECK(mlx_jvp(&out, &second, g, in, ones) == 0 && first_of(second) == 2);

  mlx_closure refused = mlx_closure_new_func(refusing);
  FAILS(mlx_closure_apply(&out, refused, in), "returned 42");
  CHECK(mlx_closure_new_func(NULL).ctx == NULL);

  mlx_array rows = numbers(6);
  CHECK(mlx_reshape(&rows, rows, (const int[]){2, 3}, 2, s) == 0);
  mlx_vector_array batch = mlx_vector_array_new_value(rows), traced = mlx_vector_array_new();
  const int zero = 0;
  CHECK(mlx_detail_vmap_trace(&traced, &second, f, batch, &zero, 1) == 0);
  CHECK(mlx_detail_vmap_replace(&out, batch, traced, second, &zero, 1, &zero, 1) == 0);
  mlx_array y = mlx_array_new();
  CHECK(mlx_vector_array_get(&y, out, 0) == 0 && mlx_array_ndim(y) == 2);
  CHECK(mlx_eval(out) == 0 && mlx_async_eval(out) == 0 && mlx_array_data_float32(y)[5] == 125);

  mlx_array_free(y);
  mlx_array_free(rows);
  mlx_vector_array_free(batch);
  mlx_vector_array_free(traced);
  mlx_closure_custom_free(vjp);
  mlx_closure_custom_jvp_free(jvp);
  mlx_closure_free(refused);
  mlx_closure_free(f);
  mlx_closure_free(g);
  mlx_vector_array_free(in);
  mlx_vector_array_free(ones);
  mlx_vector_array_free(out);
  mlx_vector_array_free(second);
  mlx_array_free(x);
  mlx_array_free(one);
}

/// A stream of bytes in memory.
struct memory {
  char bytes[4096];
  size_t at, size;
  bool good;
  int freed;
};
static bool is_open(void* p) { return p != NULL; }
static bool good(void* p) { return ((struct memory*)p)->good; }
static size_t tell(void* p) { return ((struct memory*)p)->at; }
static void seek(void* p, int64_t off, int whence) {
  struct memory* m = p;
  m->at = (size_t)((whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)m->at : (int64_t)m->size) + off);
}
static void read_at(void* p, char* data, size_t n, size_t at) {
  struct memory* m = p;
  m->good = at + n <= m->size;
  if (m->good) memcpy(data, m->bytes + at, n);
}
static void read_on(void* p, char* data, size_t n) {
  struct memory* m = p;
  read_at(p, data, n, m->at);
  m->at += n;
}
static void write_on(void* p, const char* data, size_t n) {
  struct memory* m = p;
  m->good = m->at + n <= sizeof m->bytes;
  if (m->good) memcpy(m->bytes + m->at, data, n);
  m->at += n;
  if (m->size < m->at) m->size = m->at;
}
static const char* label(void* p) { return ((struct memory*)p)->good ? "memory" : "bad memory"; }
static void note_free(void* p) { ((struct memory*)p)->freed++; }

static void streams_of_bytes(void) {
  const mlx_io_vtable table = {is_open, good, tell, seek, read_on, read_at, write_on, label, note_free};
  struct memory m = {{0}, 0, 0, true, 0};
  mlx_array a = numbers(5), b = mlx_array_new();
  mlx_io_writer writer = mlx_io_writer_new(&m, table);
  CHECK(mlx_save_writer(writer, a) == 0 && mlx_io_writer_free(writer) == 0 && m.freed == 1);
  m.at = 0;
  mlx_io_reader reader = mlx_io_reader_new(&m, table);
  CHECK(mlx_load_reader(&b, reader, s) == 0 && mlx_array_size(b) == 5);
  void* desc = NULL;
  mlx_string text = mlx_string_new();
  CHECK(mlx_io_reader_descriptor(&desc, reader) == 0 && desc == &m);
  CHECK(mlx_io_reader_tostring(&text, reader) == 0 && strcmp(mlx_string_data(text), "memory") == 0);
  m.at = 0;
  m.size -= 4;
  FAILS(mlx_load_reader(&b, reader, s), "memory");
  mlx_io_reader_free(reader);
  CHECK(m.freed == 2);
  mlx_string_free(text);
  mlx_array_free(a);
  mlx_array_free(b);
}

static void devices(void) {
  mlx_device cpu = mlx_device_new_type(MLX_CPU, 0), dev = mlx_device_new();
  mlx_stream other = mlx_stream_new_device(cpu), kept = mlx_stream_new();
  mlx_device_type type;
  int n = -1;
  bool flag = false;
  CHECK(mlx_stream_get_device(&dev, s) == 0 && mlx_device_equal(dev, cpu));
  CHECK(mlx_device_get_type(&type, dev) == 0 && type == MLX_CPU);
  CHECK(mlx_device_get_index(&n, dev) == 0 && n == 0);
  CHECK(mlx_device_is_available(&flag, cpu) == 0 && flag);
  CHECK(mlx_device_count(&n, MLX_CPU) == 0 && n == 1);
  CHECK(!mlx_stream_equal(s, other) && mlx_stream_set(&kept, s) == 0 && mlx_stream_equal(s, kept));
  CHECK(mlx_set_default_stream(other) == 0 && mlx_get_default_stream(&kept, cpu) == 0);
  CHECK(mlx_stream_equal(kept, other) && mlx_set_default_stream(s) == 0 && mlx_synchronize(s) == 0);
  mlx_device_info info = mlx_device_info_new();
  mlx_vector_string keys = mlx_vector_string_new();
  CHECK(mlx_device_info_get(&info, cpu) == 0 && mlx_device_info_get_keys(&keys, info) == 0);
  CHECK(mlx_vector_string_size(keys) > 0);
  size_t size = 0;
  CHECK(mlx_device_info_get_size(&size, info, "no such fact") == 2);
  mlx_distributed_group all = mlx_distributed_group_new();
  CHECK(mlx_distributed_init(&all, false, NULL) == 0 && mlx_distributed_group_size(all) == 1);
  mlx_array a = numbers(2), sum = mlx_array_new();
  CHECK(mlx_distributed_all_sum(&sum, a, mlx_distributed_group_new(), s) == 0);
  mlx_string text = mlx_string_new();
  CHECK(mlx_version(&text) == 0 && mlx_string_data(text)[0] == '0');
  CHECK(mlx_get_peak_memory(&size) == 0 && mlx_clear_cache() == 0);
  mlx_string_free(text);
  mlx_array_free(a);
  mlx_array_free(sum);
  mlx_distributed_group_free(all);
  mlx_device_info_free(info);
  mlx_vector_string_free(keys);
  mlx_device_free(cpu);
  mlx_device_free(dev);
  mlx_stream_free(other);
  mlx_stream_free(kept);
}

static void handlers(void) {
  int* count = calloc(1, sizeof *count);
  deleted = 0;
  mlx_set_error_handler(on_error, count, count_delete);
  const int before = errors;
  mlx_error("a message with %d", 7);
  CHECK(errors == before + 1 && strstr(last, "a message with 7 at ") && strstr(last, "interface.c:"));
  mlx_set_error_handler(on_error, NULL, NULL);
  CHECK(deleted == 1);
}

int main(void) {
  mlx_set_error_handler(on_error, NULL, NULL);
  s = mlx_default_cpu_stream_new();
  binary_interface();
  arrays();
  sizes();
  bad_handles();
  lists();
  functions();
  streams_of_bytes();
  devices();
  handlers();
  mlx_stream_free(s);
  puts("passed");
  return 0;
}
