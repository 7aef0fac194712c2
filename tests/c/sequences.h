// Sequences of calls of the C interface from bytes: handles that live, that were freed, that are
// null, that are of another kind. Used with random bytes by a test, and with others by libFuzzer.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <array>
#include <vector>

#include "mlx/c/mlx.h"

namespace sequences {

inline long errors = 0;  // reported to the handler

inline void must(bool holds, const char* claim) {
  if (holds) return;
  fprintf(stderr, "Not true: %s\n", claim);
  abort();
}

/// The handles of one kind: live ones, and freed ones, which are refused.
template <class Handle>
struct Table {
  std::vector<Handle> live, freed;
};

/// A sequence: bytes choose what is done, and with which handles.
class Sequence {
 public:
  Sequence(const uint8_t* data, size_t size) : at_(data), end_(data + size) {
    stream_ = mlx_default_cpu_stream_new();
  }
  ~Sequence() {
    for (mlx_array a : arrays_.live) must(mlx_array_free(a) == 0, "an array is freed");
    for (mlx_vector_array v : vectors_.live) must(mlx_vector_array_free(v) == 0, "a list is freed");
    for (mlx_map_string_to_array m : maps_.live)
      must(mlx_map_string_to_array_free(m) == 0, "a map is freed");
    for (mlx_string s : strings_.live) must(mlx_string_free(s) == 0, "a string is freed");
    for (mlx_closure c : closures_.live) must(mlx_closure_free(c) == 0, "a closure is freed");
    mlx_stream_free(stream_);
  }
  Sequence(const Sequence&) = delete;
  void run() {
    while (at_ < end_) step();
  }

 private:
  uint8_t byte() { return at_ < end_ ? *at_++ : 0; }

  /// A handle of the table, chosen by a byte: most often one that lives. `valid` says whether.
  template <class Handle>
  Handle any(const Table<Handle>& table, bool& valid) {
    const uint8_t choice = byte();
    valid = false;
    if (choice >= 250) return Handle{};
    if (choice >= 240 && !table.freed.empty()) return table.freed[choice % table.freed.size()];
    if (choice >= 236) return Handle{stream_.ctx};  // of another kind
    if (choice >= 232) return Handle{this};         // of no kind
    if (table.live.empty()) return Handle{};
    valid = true;
    return table.live[choice % table.live.size()];
  }
  template <class Handle>
  void keep(Table<Handle>& table, Handle handle) {
    if (handle.ctx) table.live.push_back(handle);
  }
  template <class Handle>
  void free_one(Table<Handle>& table, int (*free)(Handle)) {
    bool valid;
    const Handle handle = any(table, valid);
    const int code = free(handle);
    must((code == 0) == (valid || !handle.ctx), "what lives is freed, once");
    if (!valid) return;
    table.freed.push_back(handle);
    for (size_t i = 0; i < table.live.size(); ++i)
      if (table.live[i].ctx == handle.ctx) {
        table.live.erase(table.live.begin() + static_cast<long>(i));
        return;
      }
  }
  /// A call with one array that needs it to live.
  template <class Call>
  void with_array(Call call) {
    bool valid;
    const mlx_array a = any(arrays_, valid);
    mlx_array res = mlx_array_new();
    const long before = errors;
    const int code = call(&res, a);
    if (!valid) must(code != 0 && errors > before, "an array that does not live is an error");
    must(code == 0 || !res.ctx, "an error gives no array");
    keep(arrays_, res);
  }
  /// The same with two.
  void with_arrays(int (*call)(mlx_array*, mlx_array, mlx_array, mlx_stream)) {
    bool valid;
    const mlx_array b = any(arrays_, valid);
    if (valid) {
      with_array([&](mlx_array* res, mlx_array a) { return call(res, a, b, stream_); });
    } else {
      mlx_array res = mlx_array_new();
      must(arrays_.live.empty() || call(&res, arrays_.live[0], b, stream_) != 0,
           "a second array that does not live is an error");
      must(!res.ctx, "an error gives no array");
    }
  }

  void step();
  void step_of_arrays(int choice);
  void step_of_lists(int choice);
  void step_of_functions(int choice);
  void make_array();

  const uint8_t *at_, *end_;
  mlx_stream stream_;
  Table<mlx_array> arrays_;
  Table<mlx_vector_array> vectors_;
  Table<mlx_map_string_to_array> maps_;
  Table<mlx_string> strings_;
  Table<mlx_closure> closures_;
};

inline void Sequence::make_array() {
  std::array<float, 32> numbers;  // 9 elements of 8 bytes and more
  for (float& v : numbers) v = static_cast<float>(byte() % 8);
  const int shape[2] = {byte() % 4, byte() % 4};
  const int dim = byte() % 4 - 1;  // -1 and 3 are none: an error, and an axis too many
  mlx_array a{};
  if (dim < 0 || dim > 2)
    a = mlx_array_new_data(numbers.data(), shape, -1, MLX_FLOAT32);
  else
    a = mlx_array_new_data(numbers.data(), shape, dim, static_cast<mlx_dtype>(byte() % 16));
  keep(arrays_, a);
}

inline void Sequence::step_of_arrays(int choice) {
  switch (choice) {
    case 0:
      return make_array();
    case 1:
      return with_arrays(mlx_add);
    case 2:
      return with_arrays(mlx_matmul);
    case 3:
      return with_arrays(mlx_maximum);
    case 4: {
      const int axis = byte() % 3;
      return with_array(
          [&](mlx_array* res, mlx_array a) { return mlx_sum_axis(res, a, axis, false, stream_); });
    }
    case 5:
      return with_array([&](mlx_array* res, mlx_array a) { return mlx_exp(res, a, stream_); });
    case 6: {
      const int shape[1] = {byte() % 8};
      return with_array(
          [&](mlx_array* res, mlx_array a) { return mlx_reshape(res, a, shape, 1, stream_); });
    }
    case 7:
      return with_array([&](mlx_array*, mlx_array a) { return mlx_array_eval(a); });
    case 8:
      return with_array([&](mlx_array*, mlx_array a) {
        const int* shape = mlx_array_shape(a);
        const size_t* strides = mlx_array_strides(a);
        return shape && strides ? 0 : 1;
      });
    case 9:
      return with_array([&](mlx_array*, mlx_array a) {
        float value;
        const int code = mlx_array_item_float32(&value, a);
        return code && mlx_array_size(a) != 1 && mlx_array_ndim(a) > 0 ? 0 : code;
      });
    case 10:
      return free_one(arrays_, mlx_array_free);
    default: {
      bool valid, other;
      const mlx_array src = any(arrays_, valid);
      mlx_array to = any(arrays_, other);
      const bool fresh = !to.ctx;
      const int code = mlx_array_set(&to, src);
      must((code == 0) == (valid && (other || fresh)), "an array is set from one that lives");
      if (fresh && code == 0) keep(arrays_, to);
    }
  }
}

inline void Sequence::step_of_lists(int choice) {
  bool valid, item_valid;
  switch (choice) {
    case 0:
      return keep(vectors_, mlx_vector_array_new());
    case 1: {
      const mlx_vector_array v = any(vectors_, valid);
      const mlx_array a = any(arrays_, item_valid);
      must((mlx_vector_array_append_value(v, a) == 0) == (valid && item_valid), "append");
      return;
    }
    case 2: {
      const mlx_vector_array v = any(vectors_, valid);
      const size_t at = byte() % 4, size = valid ? mlx_vector_array_size(v) : 0;
      mlx_array a = mlx_array_new();
      must((mlx_vector_array_get(&a, v, at) == 0) == (valid && at < size), "an item of a list");
      return keep(arrays_, a);
    }
    case 3:
      return free_one(vectors_, mlx_vector_array_free);
    case 4:
      return keep(maps_, mlx_map_string_to_array_new());
    case 5: {
      const mlx_map_string_to_array m = any(maps_, valid);
      const mlx_array a = any(arrays_, item_valid);
      const char key[2] = {static_cast<char>('a' + byte() % 3), 0};
      must((mlx_map_string_to_array_insert(m, key, a) == 0) == (valid && item_valid), "insert");
      return;
    }
    case 6: {
      const mlx_map_string_to_array m = any(maps_, valid);
      auto it = mlx_map_string_to_array_iterator_new(m);
      must((it.ctx != nullptr) == valid, "an iterator of a map");
      const char* key = nullptr;
      mlx_array a = mlx_array_new();
      int count = 0;
      while (it.ctx && mlx_map_string_to_array_iterator_next(&key, &a, it) == 0) ++count;
      must(count <= 3, "a map has three keys at most");
      if (it.ctx) mlx_map_string_to_array_iterator_free(it);
      return keep(arrays_, a);
    }
    case 7:
      return free_one(maps_, mlx_map_string_to_array_free);
    case 8:
      return keep(strings_, mlx_string_new_data("text"));
    case 9: {
      const mlx_array a = any(arrays_, valid);
      mlx_string text = mlx_string_new();
      must((mlx_array_tostring(&text, a) == 0) == valid, "an array as text");
      must(mlx_string_data(text) != nullptr, "the text");
      return keep(strings_, text);
    }
    default:
      return free_one(strings_, mlx_string_free);
  }
}

/// Squares its input; an error for inputs that have no number of elements below 10.
inline int square(mlx_array* res, const mlx_array x) {
  if (mlx_array_size(x) >= 10) return 3;
  mlx_stream s = mlx_default_cpu_stream_new();
  const int code = mlx_square(res, x, s);
  mlx_stream_free(s);
  return code;
}
/// The sum of the squares of its inputs, in another list than the one given.
inline int squares(mlx_vector_array* res, const mlx_vector_array inputs, void* payload) {
  mlx_stream s = mlx_default_cpu_stream_new();
  mlx_array sum = mlx_array_new_float(0), x = mlx_array_new();
  int code = 0;
  for (size_t i = 0; !code && i < mlx_vector_array_size(inputs); ++i) {
    code = mlx_vector_array_get(&x, inputs, i);
    if (!code) code = mlx_square(&x, x, s);
    if (!code) code = mlx_sum(&x, x, false, s);
    if (!code) code = mlx_add(&sum, sum, x, s);
  }
  ++*static_cast<int*>(payload);
  if (!code) *res = mlx_vector_array_new_value(sum);
  mlx_array_free(x);
  mlx_array_free(sum);
  mlx_stream_free(s);
  return code;
}

inline void Sequence::step_of_functions(int choice) {
  bool valid, list_valid;
  switch (choice) {
    case 0:
      return keep(closures_, mlx_closure_new_unary(square));
    case 1:
      return keep(closures_, mlx_closure_new_func_payload(squares, calloc(1, sizeof(int)), free));
    case 2: {
      const mlx_closure f = any(closures_, valid);
      const mlx_vector_array v = any(vectors_, list_valid);
      mlx_vector_array res{};
      const int code = mlx_closure_apply(&res, f, v);
      must(code != 0 || (valid && list_valid), "functions and arguments that live");
      return keep(vectors_, res);
    }
    case 3: {
      const mlx_closure f = any(closures_, valid);
      mlx_closure compiled{};
      must((mlx_compile(&compiled, f, byte() % 2) == 0) == valid, "a function that lives compiles");
      return keep(closures_, compiled);
    }
    case 4: {
      const mlx_closure f = any(closures_, valid);
      const mlx_vector_array v = any(vectors_, list_valid);
      const int zero = 0;
      mlx_closure_value_and_grad gradient{};
      must((mlx_value_and_grad(&gradient, f, &zero, 1) == 0) == valid, "a gradient");
      mlx_vector_array values{}, gradients{};
      const int code = mlx_closure_value_and_grad_apply(&values, &gradients, gradient, v);
      must(code != 0 || (valid && list_valid), "gradients of what lives");
      must(mlx_closure_value_and_grad_free(gradient) == 0, "a gradient is freed");
      keep(vectors_, values);
      return keep(vectors_, gradients);
    }
    default:
      return free_one(closures_, mlx_closure_free);
  }
}

inline void Sequence::step() {
  const uint8_t choice = byte();
  if (choice < 128) return step_of_arrays(choice % 12);
  if (choice < 216) return step_of_lists(choice % 11);
  step_of_functions(choice % 6);
}

inline void count_error(const char*, void*) { ++errors; }

/// Runs a sequence; aborts where the interface does not keep what it says.
inline void run(const uint8_t* data, size_t size) {
  mlx_set_error_handler(count_error, nullptr, nullptr);
  Sequence(data, size).run();
}

}  // namespace sequences
