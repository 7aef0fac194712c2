// Functions of C programs as the engine's functions, and the other way around.
#include "mlx/c/closure.h"

#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"

namespace mlx::c {

namespace {

/// A handle for one call of the program's function.
template <class Struct>
class Passed {
 public:
  explicit Passed(Object<Struct> value) : handle_(make<Struct>(std::move(value))) {}
  ~Passed() { run_drop(handle_); }
  Passed(const Passed&) = delete;
  Struct handle() const { return handle_; }

  static void run_drop(Struct handle) {
    try {
      drop(handle);
    } catch (const std::exception&) {
      // The function has freed it.
    }
  }

 private:
  Struct handle_;
};

/// The place of a result of one call: the function sets the object there, adds to it, or puts
/// another handle there.
template <class Struct>
class Returned {
 public:
  Returned() : given_(make<Struct>({})), now_(given_) {}
  ~Returned() {
    if (now_.ctx != given_.ctx) Passed<Struct>::run_drop(now_);
    Passed<Struct>::run_drop(given_);
  }
  Returned(const Returned&) = delete;
  Struct* place() { return &now_; }
  Object<Struct> value() const { return get(now_); }

 private:
  Struct given_, now_;
};

void check(int code) {
  if (code)
    core::fail<core::ExecutionError>("mlx_closure", "the program's function returned ", code,
                                     "; 0 is accepted");
}

/// The program's function; with `payload` as its last argument in the second form.
template <class... Args>
auto called(int (*fun)(Args...)) {
  if (!fun) core::fail<core::ValueError>("mlx_closure", "null; a function is accepted");
  return fun;
}
template <class Fun>
auto called(Fun fun, void* payload, void (*dtor)(void*)) {
  if (!fun) core::fail<core::ValueError>("mlx_closure", "null; a function is accepted");
  std::shared_ptr<void> kept(payload, [dtor](void* p) {
    if (dtor) dtor(p);
  });
  return [fun, kept](auto... args) { return fun(args..., kept.get()); };
}

template <class Call>
core::Function plain(Call call) {
  return [call](const Arrays& inputs) {
    Passed<mlx_vector_array> input(inputs);
    Returned<mlx_vector_array> results;
    check(call(results.place(), input.handle()));
    return results.value();
  };
}
core::Function unary(int (*fun)(mlx_array*, const mlx_array)) {
  return [fun = called(fun)](const Arrays& inputs) {
    if (inputs.size() != 1)
      core::fail<core::ValueError>("mlx_closure", inputs.size(),
                                   " arrays for a function of one; 1 is accepted");
    Passed<mlx_array> input({inputs[0]});
    Returned<mlx_array> output;
    check(fun(output.place(), input.handle()));
    return Arrays{output.value().value};
  };
}
template <class Call>
Keyworded keyworded(Call call) {
  return [call](const Arrays& inputs, const ArrayMap& named) {
    Passed<mlx_vector_array> input(inputs);
    Passed<mlx_map_string_to_array> map(named);
    Returned<mlx_vector_array> results;
    check(call(results.place(), input.handle(), map.handle()));
    return results.value();
  };
}
template <class Call>
core::ValueAndGradFn value_and_grad(Call call) {
  return [call](const Arrays& inputs) {
    Passed<mlx_vector_array> input(inputs);
    Returned<mlx_vector_array> values, gradients;
    check(call(values.place(), gradients.place(), input.handle()));
    return std::pair(values.value(), gradients.value());
  };
}
template <class Call>
CustomVjp custom(Call call) {
  return [call](const Arrays& primals, const Arrays& cotangents, const Arrays& outputs) {
    Passed<mlx_vector_array> first(primals), second(cotangents), third(outputs);
    Returned<mlx_vector_array> results;
    check(call(results.place(), first.handle(), second.handle(), third.handle()));
    return results.value();
  };
}
template <class Call>
CustomJvp custom_jvp(Call call) {
  return [call](const Arrays& primals, const Arrays& tangents, const std::vector<int>& argnums) {
    Passed<mlx_vector_array> first(primals), second(tangents);
    Returned<mlx_vector_array> results;
    check(call(results.place(), first.handle(), second.handle(), argnums.data(), argnums.size()));
    return results.value();
  };
}
template <class Call>
CustomVmap custom_vmap(Call call) {
  return [call](const Arrays& inputs, const std::vector<int>& axes) {
    Passed<mlx_vector_array> first(inputs);
    Returned<mlx_vector_array> results;
    Returned<mlx_vector_int> out_axes;
    check(call(results.place(), out_axes.place(), first.handle(), axes.data(), axes.size()));
    return std::pair(results.value(), out_axes.value());
  };
}

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;

extern "C" {

// The functions of each kind of closure: `adapt` makes the engine's function of the program's.
#define MLX_C_CLOSURE(Closure, adapt, ...)                                                 \
  Closure Closure##_new(void) { return {}; }                                               \
  int Closure##_free(Closure cls) {                                                        \
    return status(__func__, [&] { drop(cls); });                                           \
  }                                                                                        \
  int Closure##_set(Closure* cls, const Closure src) {                                     \
    return status(__func__, [&] { assign(cls, Object<Closure>(get(src))); });              \
  }                                                                                        \
  Closure Closure##_new_func(int (*fun)(__VA_ARGS__)) {                                    \
    return result(__func__, Closure{}, [&] { return make<Closure>(adapt(called(fun))); }); \
  }                                                                                        \
  Closure Closure##_new_func_payload(int (*fun)(__VA_ARGS__, void*), void* payload,        \
                                     void (*dtor)(void*)) {                                \
    return result(__func__, Closure{},                                                     \
                  [&] { return make<Closure>(adapt(called(fun, payload, dtor))); });       \
  }

MLX_C_CLOSURE(mlx_closure, plain, mlx_vector_array*, const mlx_vector_array)
MLX_C_CLOSURE(mlx_closure_kwargs, keyworded, mlx_vector_array*, const mlx_vector_array,
              const mlx_map_string_to_array)
MLX_C_CLOSURE(mlx_closure_value_and_grad, value_and_grad, mlx_vector_array*, mlx_vector_array*,
              const mlx_vector_array)
MLX_C_CLOSURE(mlx_closure_custom, custom, mlx_vector_array*, const mlx_vector_array,
              const mlx_vector_array, const mlx_vector_array)
MLX_C_CLOSURE(mlx_closure_custom_jvp, custom_jvp, mlx_vector_array*, const mlx_vector_array,
              const mlx_vector_array, const int*, size_t)
MLX_C_CLOSURE(mlx_closure_custom_vmap, custom_vmap, mlx_vector_array*, mlx_vector_int*,
              const mlx_vector_array, const int*, size_t)
#undef MLX_C_CLOSURE

mlx_closure mlx_closure_new_unary(int (*fun)(mlx_array*, const mlx_array)) {
  return result(__func__, mlx_closure{}, [&] { return make<mlx_closure>(unary(fun)); });
}

int mlx_closure_apply(mlx_vector_array* res, mlx_closure cls, const mlx_vector_array input) {
  return status(__func__, [&] { assign(res, get(cls)(get(input))); });
}
int mlx_closure_kwargs_apply(mlx_vector_array* res, mlx_closure_kwargs cls,
                             const mlx_vector_array input_0,
                             const mlx_map_string_to_array input_1) {
  return status(__func__, [&] { assign(res, get(cls)(get(input_0), get(input_1))); });
}
int mlx_closure_value_and_grad_apply(mlx_vector_array* res_0, mlx_vector_array* res_1,
                                     mlx_closure_value_and_grad cls, const mlx_vector_array input) {
  return status(__func__, [&] { out(res_0, res_1, get(cls)(get(input))); });
}
int mlx_closure_custom_apply(mlx_vector_array* res, mlx_closure_custom cls,
                             const mlx_vector_array input_0, const mlx_vector_array input_1,
                             const mlx_vector_array input_2) {
  return status(__func__, [&] { assign(res, get(cls)(get(input_0), get(input_1), get(input_2))); });
}
int mlx_closure_custom_jvp_apply(mlx_vector_array* res, mlx_closure_custom_jvp cls,
                                 const mlx_vector_array input_0, const mlx_vector_array input_1,
                                 const int* input_2, size_t input_2_num) {
  return status(__func__, [&] {
    assign(res, get(cls)(get(input_0), get(input_1), ints_in(input_2, input_2_num)));
  });
}
int mlx_closure_custom_vmap_apply(mlx_vector_array* res_0, mlx_vector_int* res_1,
                                  mlx_closure_custom_vmap cls, const mlx_vector_array input_0,
                                  const int* input_1, size_t input_1_num) {
  return status(__func__, [&] {
    auto results = get(cls)(get(input_0), ints_in(input_1, input_1_num));
    assign(res_0, std::move(results.first));
    assign(res_1, std::move(results.second));
  });
}

}  // extern "C"
