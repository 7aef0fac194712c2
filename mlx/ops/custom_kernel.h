// GPU kernels given as source code. No GPU is supported by this build: the functions raise.
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

namespace mlx::core::fast {

using TemplateArg = std::variant<int, bool, Dtype>;
using ScalarArg = std::variant<bool, int, float>;
struct CompileOptions {};

/// Runs a kernel: inputs, output shapes and dtypes, grid, threadgroup, template arguments, initial
/// value of outputs, verbosity, stream.
using CustomKernelFunction = std::function<std::vector<array>(
    const std::vector<array>&, const std::vector<Shape>&, const std::vector<Dtype>&,
    std::tuple<int, int, int>, std::tuple<int, int, int>,
    std::vector<std::pair<std::string, TemplateArg>>, std::optional<float>, bool, StreamOrDevice)>;

/// A function that throws ExecutionError when it is called: there is no Metal device.
MLX_API CustomKernelFunction metal_kernel(const std::string& name,
                                          const std::vector<std::string>& input_names,
                                          const std::vector<std::string>& output_names,
                                          const std::string& source, const std::string& header = "",
                                          bool ensure_row_contiguous = true,
                                          bool atomic_outputs = false,
                                          const CompileOptions& compile_options = {});
/// Throws ExecutionError: there is no CUDA device.
MLX_API CustomKernelFunction cuda_kernel(const std::string& name,
                                         const std::vector<std::string>& input_names,
                                         const std::vector<std::string>& output_names,
                                         const std::string& source, const std::string& header = "",
                                         bool ensure_row_contiguous = true, int shared_memory = 0);
/// Throws ExecutionError: there is no CUDA device.
MLX_API std::vector<array> precompiled_cuda_kernel(
    const std::string& name, const std::string& compiled_source, const std::vector<array>& inputs,
    const std::vector<Shape>& output_shapes, const std::vector<Dtype>& output_dtypes,
    const std::vector<ScalarArg>& scalars, std::tuple<int, int, int> grid,
    std::tuple<int, int, int> threadgroup, int shared_memory = 0,
    std::optional<float> init_value = {}, bool ensure_row_contiguous = false,
    StreamOrDevice s = {});

}  // namespace mlx::core::fast
