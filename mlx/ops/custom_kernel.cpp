// Custom GPU kernels: functions that report the missing device.
#include "mlx/ops/custom_kernel.h"

#include "mlx/core/error.h"

namespace mlx::core::fast {

namespace {

[[noreturn]] void no_device(const char* op, const std::string& name, const char* kind) {
  fail<ExecutionError>(op, "the kernel '", name, "' needs a ", kind, " device; there is none");
}

}  // namespace

CustomKernelFunction metal_kernel(const std::string& name, const std::vector<std::string>&,
                                  const std::vector<std::string>&, const std::string&,
                                  const std::string&, bool, bool, const CompileOptions&) {
  return [name](auto&&...) -> std::vector<array> { no_device("metal_kernel", name, "Metal"); };
}

CustomKernelFunction cuda_kernel(const std::string& name, const std::vector<std::string>&,
                                 const std::vector<std::string>&, const std::string&,
                                 const std::string&, bool, int) {
  no_device("cuda_kernel", name, "CUDA");
}

std::vector<array> precompiled_cuda_kernel(const std::string& name, const std::string&,
                                           const std::vector<array>&, const std::vector<Shape>&,
                                           const std::vector<Dtype>&, const std::vector<ScalarArg>&,
                                           std::tuple<int, int, int>, std::tuple<int, int, int>,
                                           int, std::optional<float>, bool, StreamOrDevice) {
  no_device("precompiled_cuda_kernel", name, "CUDA");
}

}  // namespace mlx::core::fast
