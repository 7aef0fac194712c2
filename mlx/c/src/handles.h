// Objects behind the structs of the C interface. A struct holds one pointer: the address of a slot,
// whose lowest bits count how often the slot was used before. A slot says which kind of object it
// has, so null, freed and foreign handles are errors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mlx/c/mlx.h"
#include "mlx/compat/graph.h"
#include "mlx/core/array.h"
#include "mlx/core/error.h"
#include "mlx/distributed/distributed.h"
#include "mlx/io/io.h"
#include "mlx/transforms/export.h"
#include "mlx/transforms/transforms.h"

namespace mlx::c {

using core::array;
using core::Arrays;

/// An array, and its shape and strides as C programs read them.
struct ArrayObject {
  array value;
  std::vector<int> shape = {};
  std::vector<size_t> strides = {};
  bool has_shape = false, has_strides = false;
};

using ArrayMap = std::unordered_map<std::string, array>;
using StringMap = std::unordered_map<std::string, std::string>;
using Keyworded = std::function<Arrays(const Arrays&, const ArrayMap&)>;
using CustomVjp = std::function<Arrays(const Arrays&, const Arrays&, const Arrays&)>;
using CustomJvp = std::function<Arrays(const Arrays&, const Arrays&, const std::vector<int>&)>;
using CustomVmap =
    std::function<std::pair<Arrays, std::vector<int>>(const Arrays&, const std::vector<int>&)>;

/// The keys of a map when an iteration began, and the next one.
struct KeyIterator {
  std::vector<std::string> keys;
  size_t next = 0;
};

struct KernelConfig;
struct Kernel;

/// The C struct and the C++ type of each kind of object.
#define MLX_C_KINDS(X)                                \
  X(mlx_array, ArrayObject)                           \
  X(mlx_string, std::string)                          \
  X(mlx_vector_array, Arrays)                         \
  X(mlx_vector_vector_array, std::vector<Arrays>)     \
  X(mlx_vector_int, std::vector<int>)                 \
  X(mlx_vector_string, std::vector<std::string>)      \
  X(mlx_map_string_to_array, ArrayMap)                \
  X(mlx_map_string_to_string, StringMap)              \
  X(mlx_map_string_to_array_iterator, KeyIterator)    \
  X(mlx_map_string_to_string_iterator, KeyIterator)   \
  X(mlx_closure, core::Function)                      \
  X(mlx_closure_kwargs, Keyworded)                    \
  X(mlx_closure_value_and_grad, core::ValueAndGradFn) \
  X(mlx_closure_custom, CustomVjp)                    \
  X(mlx_closure_custom_jvp, CustomJvp)                \
  X(mlx_closure_custom_vmap, CustomVmap)              \
  X(mlx_device, core::Device)                         \
  X(mlx_device_info, core::DeviceInfo)                \
  X(mlx_stream, core::Stream)                         \
  X(mlx_distributed_group, core::distributed::Group)  \
  X(mlx_function_exporter, core::FunctionExporter)    \
  X(mlx_imported_function, core::ImportedFunction)    \
  X(mlx_node_namer, core::NodeNamer)                  \
  X(mlx_io_reader, std::shared_ptr<core::io::Reader>) \
  X(mlx_io_writer, std::shared_ptr<core::io::Writer>) \
  X(mlx_io_gguf, core::GGUFLoad)                      \
  X(mlx_fast_cuda_kernel_config, KernelConfig)        \
  X(mlx_fast_metal_kernel_config, KernelConfig)       \
  X(mlx_fast_cuda_kernel, Kernel)                     \
  X(mlx_fast_metal_kernel, Kernel)

enum class Kind : uint32_t {
  none,  ///< a slot that is not in use
#define X(Struct, T) Struct,
  MLX_C_KINDS(X)
#undef X
};

template <class Struct>
struct Held;
#define X(Struct, T)                             \
  template <>                                    \
  struct Held<Struct> {                          \
    using type = T;                              \
    static constexpr Kind kind = Kind::Struct;   \
    static constexpr const char* name = #Struct; \
  };
MLX_C_KINDS(X)
#undef X
template <class Struct>
using Object = typename Held<Struct>::type;

/// Gives an object a slot; returns the handle.
void* hold(Kind kind, void* object);
/// The object of a handle. Throws ValueError, naming the struct, unless it is one of that kind.
void* held(const void* handle, Kind kind, const char* name);
/// The same, and ends the use of the handle.
void* let_go(const void* handle, Kind kind, const char* name);

template <class Struct>
Object<Struct>& get(Struct handle) {
  return *static_cast<Object<Struct>*>(held(handle.ctx, Held<Struct>::kind, Held<Struct>::name));
}
template <class Struct>
Struct make(Object<Struct> value) {
  auto object = std::make_unique<Object<Struct>>(std::move(value));
  Struct handle{};
  handle.ctx = hold(Held<Struct>::kind, object.get());
  object.release();
  return handle;
}
/// Gives the object of `*to` another value; makes one where the handle is null.
template <class Struct>
void assign(Struct* to, Object<Struct> value) {
  if (!to) core::fail<core::ValueError>(Held<Struct>::name, "no place for a result");
  if (!to->ctx)
    *to = make<Struct>(std::move(value));
  else
    get(*to) = std::move(value);
}
/// Deletes the object; null handles have none.
template <class Struct>
void drop(Struct handle) {
  if (handle.ctx)
    delete static_cast<Object<Struct>*>(let_go(handle.ctx, Held<Struct>::kind, Held<Struct>::name));
}

/// Calls the error handler with a message; `file` and `line` say where.
void report(const char* message, const char* file, int line) noexcept;

/// A reference to a callable without results.
class Step {
 public:
  template <class F>
  Step(F& f) : object_(&f), call_([](void* o) { (*static_cast<F*>(o))(); }) {}
  void operator()() const { call_(object_); }

 private:
  void* object_;
  void (*call_)(void*);
};
/// Runs the step: 0, or 1 after an exception was reported. `name` is the function of the interface.
int run(const Step& step, const char* name) noexcept;

/// Runs `f`: 0, or 1 after an exception was reported.
template <class F>
int status(const char* name, F&& f) {
  return run(Step(f), name);
}
/// The result of `f`, or `otherwise` after an exception was reported.
template <class T, class F>
T result(const char* name, T otherwise, F&& f) {
  T out = otherwise;
  auto step = [&] { out = f(); };
  run(Step(step), name);
  return out;
}

}  // namespace mlx::c
