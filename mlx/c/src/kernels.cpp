// Kernels given as source.
#include "mlx/c/fast_kernels.h"
#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"
#include "mlx/fast.h"

namespace mlx::c {

/// How a kernel is called.
struct KernelConfig {
  std::vector<core::Shape> shapes;
  std::vector<core::Dtype> dtypes;
  std::tuple<int, int, int> grid{1, 1, 1}, threads{1, 1, 1};
  std::vector<std::pair<std::string, core::fast::TemplateArg>> arguments;
  std::optional<float> initial;
  bool verbose = false;
};

struct Kernel {
  core::fast::CustomKernelFunction call;
};

namespace {

Arrays apply(const Kernel& kernel, const Arrays& inputs, const KernelConfig& c, core::Stream s) {
  return kernel.call(inputs, c.shapes, c.dtypes, c.grid, c.threads, c.arguments, c.initial,
                     c.verbose, s);
}

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;
namespace core = mlx::core;

extern "C" {

// The functions of each device.
#define MLX_C_KERNELS(Kernel)                                                                    \
  Kernel##_config Kernel##_config_new(void) {                                                    \
    return result(__func__, Kernel##_config{}, [] { return make<Kernel##_config>({}); });        \
  }                                                                                              \
  void Kernel##_config_free(Kernel##_config cls) {                                               \
    status(__func__, [&] { drop(cls); });                                                        \
  }                                                                                              \
  int Kernel##_config_add_output_arg(Kernel##_config cls, const int* shape, size_t size,         \
                                     mlx_dtype dtype) {                                          \
    return status(__func__, [&] {                                                                \
      const core::Dtype t = in(dtype);                                                           \
      get(cls).shapes.push_back(shape_in(shape, size));                                          \
      get(cls).dtypes.push_back(t);                                                              \
    });                                                                                          \
  }                                                                                              \
  int Kernel##_config_set_grid(Kernel##_config cls, int grid1, int grid2, int grid3) {           \
    return status(__func__, [&] { get(cls).grid = {grid1, grid2, grid3}; });                     \
  }                                                                                              \
  int Kernel##_config_set_thread_group(Kernel##_config cls, int thread1, int thread2,            \
                                       int thread3) {                                            \
    return status(__func__, [&] { get(cls).threads = {thread1, thread2, thread3}; });            \
  }                                                                                              \
  int Kernel##_config_set_init_value(Kernel##_config cls, float value) {                         \
    return status(__func__, [&] { get(cls).initial = value; });                                  \
  }                                                                                              \
  int Kernel##_config_set_verbose(Kernel##_config cls, bool verbose) {                           \
    return status(__func__, [&] { get(cls).verbose = verbose; });                                \
  }                                                                                              \
  int Kernel##_config_add_template_arg_dtype(Kernel##_config cls, const char* name,              \
                                             mlx_dtype dtype) {                                  \
    return status(__func__, [&] { get(cls).arguments.emplace_back(in(name), in(dtype)); });      \
  }                                                                                              \
  int Kernel##_config_add_template_arg_int(Kernel##_config cls, const char* name, int value) {   \
    return status(__func__, [&] { get(cls).arguments.emplace_back(in(name), value); });          \
  }                                                                                              \
  int Kernel##_config_add_template_arg_bool(Kernel##_config cls, const char* name, bool value) { \
    return status(__func__, [&] { get(cls).arguments.emplace_back(in(name), value); });          \
  }                                                                                              \
  void Kernel##_free(Kernel cls) {                                                               \
    status(__func__, [&] { drop(cls); });                                                        \
  }                                                                                              \
  int Kernel##_apply(mlx_vector_array* outputs, Kernel cls, const mlx_vector_array inputs,       \
                     const Kernel##_config config, const mlx_stream stream) {                    \
    return status(__func__, [&] {                                                                \
      assign(outputs, apply(get(cls), get(inputs), get(config), get(stream)));                   \
    });                                                                                          \
  }
MLX_C_KERNELS(mlx_fast_cuda_kernel)
MLX_C_KERNELS(mlx_fast_metal_kernel)
#undef MLX_C_KERNELS

mlx_fast_cuda_kernel mlx_fast_cuda_kernel_new(const char* name, const mlx_vector_string input_names,
                                              const mlx_vector_string output_names,
                                              const char* source, const char* header,
                                              bool ensure_row_contiguous, int shared_memory) {
  return result(__func__, mlx_fast_cuda_kernel{}, [&] {
    return make<mlx_fast_cuda_kernel>(
        {core::fast::cuda_kernel(in(name), get(input_names), get(output_names), in(source),
                                 maybe(header), ensure_row_contiguous, shared_memory)});
  });
}
mlx_fast_metal_kernel mlx_fast_metal_kernel_new(const char* name,
                                                const mlx_vector_string input_names,
                                                const mlx_vector_string output_names,
                                                const char* source, const char* header,
                                                bool ensure_row_contiguous, bool atomic_outputs) {
  return result(__func__, mlx_fast_metal_kernel{}, [&] {
    return make<mlx_fast_metal_kernel>(
        {core::fast::metal_kernel(in(name), get(input_names), get(output_names), in(source),
                                  maybe(header), ensure_row_contiguous, atomic_outputs)});
  });
}

}  // extern "C"
