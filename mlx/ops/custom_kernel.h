// GPU kernels given as source code or as machine code: steps of the graph, which GPUs run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// A kernel and how it is launched. For CUDA it gets the addresses of its inputs and outputs, and
/// further arguments, in the order of a C struct; for Metal they are its buffers, in this order.
struct KernelAttrs {
  std::string name;   ///< that the program gave it
  std::string code;   ///< source, or machine code
  std::string entry;  ///< the function
  bool compiled = false;
  bool rows = true;               ///< inputs are row-contiguous
  Shape grid = {}, group = {};    ///< threads: in all, and in a block
  int64_t shared = 0;             ///< bytes of dynamic shared memory
  std::vector<double> fill = {};  ///< initial value of the outputs: one, or none
  /// The arguments behind the address of each input: bit 0 its shape, bit 1 its strides, bit 2
  /// how many axes it has.
  Shape follows = {};
  /// Further arguments: their values, and what they are.
  std::vector<double> scalars = {};
  enum ScalarKind { boolean, integer, real };
  Shape kinds = {};
  /// The outputs: axes and lengths of each, and the names of their dtypes with commas between.
  Shape shapes = {};
  std::string dtypes = {};
  template <class F>
  void each(F&& f) {
    f("name", name), f("code", code), f("entry", entry), f("compiled", compiled), f("rows", rows);
    f("grid", grid), f("group", group), f("shared", shared), f("fill", fill);
    f("follows", follows), f("scalars", scalars), f("kinds", kinds);
    f("shapes", shapes), f("dtypes", dtypes);
  }
};

extern MLX_API const OpDef op_cuda_kernel, op_metal_kernel;

/// Whether the GPU is one of Metal.
MLX_API bool has_metal();

namespace fast {

using TemplateArg = std::variant<int, bool, Dtype>;
using ScalarArg = std::variant<bool, int, float>;
struct CompileOptions {};

/// Runs a kernel: inputs, output shapes and dtypes, grid, threadgroup, template arguments, initial
/// value of outputs, verbosity, stream.
using CustomKernelFunction = std::function<std::vector<array>(
    const std::vector<array>&, const std::vector<Shape>&, const std::vector<Dtype>&,
    std::tuple<int, int, int>, std::tuple<int, int, int>,
    std::vector<std::pair<std::string, TemplateArg>>, std::optional<float>, bool, StreamOrDevice)>;

/// A function that adds the kernel to the graph, or throws ExecutionError where there is no Metal
/// device. `source` is the body of a kernel. Its arguments are inputs and outputs by their names, a
/// reference for an input without axes; for an input `x` of which the source names them, also
/// `x_shape`, `x_strides` and `x_ndim`; and the positions of threads that the source names.
MLX_API CustomKernelFunction metal_kernel(const std::string& name,
                                          const std::vector<std::string>& input_names,
                                          const std::vector<std::string>& output_names,
                                          const std::string& source, const std::string& header = "",
                                          bool ensure_row_contiguous = true,
                                          bool atomic_outputs = false,
                                          const CompileOptions& compile_options = {});
/// A function that adds the kernel to the graph. `source` is the body of a function whose
/// parameters are pointers to the elements of inputs and outputs, by these names; for an input `x`
/// of which the source names them, also `x_shape`, `x_strides` and `x_ndim`. Throws ExecutionError
/// where there is no CUDA device.
MLX_API CustomKernelFunction cuda_kernel(const std::string& name,
                                         const std::vector<std::string>& input_names,
                                         const std::vector<std::string>& output_names,
                                         const std::string& source, const std::string& header = "",
                                         bool ensure_row_contiguous = true, int shared_memory = 0);
/// The results of a kernel given as PTX or machine code, whose parameters are the addresses of
/// inputs and outputs, then the scalars. Throws ExecutionError where there is no CUDA device.
MLX_API std::vector<array> precompiled_cuda_kernel(
    const std::string& name, const std::string& compiled_source, const std::vector<array>& inputs,
    const std::vector<Shape>& output_shapes, const std::vector<Dtype>& output_dtypes,
    const std::vector<ScalarArg>& scalars, std::tuple<int, int, int> grid,
    std::tuple<int, int, int> threadgroup, int shared_memory = 0,
    std::optional<float> init_value = {}, bool ensure_row_contiguous = false,
    StreamOrDevice s = {});

}  // namespace fast
}  // namespace mlx::core
