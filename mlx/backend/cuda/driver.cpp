// The table of the driver's functions, and errors with their names.
#include "mlx/backend/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

#include "mlx/backend/cuda/faults.h"

namespace mlx::core::cuda {

namespace {
Driver table;
}

int open_driver(std::string& reason) {
  const char* given = std::getenv("MLX_CUDA_DRIVER");
  const char* name = given ? given : "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    reason = cat("NVIDIA's driver (", name, ") is not found");
    return 0;
  }
  const char* absent = nullptr;
#define MLX_CUDA_FIND(name, symbol, parameters) \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #symbol));
  MLX_CUDA_FUNCTIONS(MLX_CUDA_FIND)
  MLX_CUDA_NEWER_FUNCTIONS(MLX_CUDA_FIND)
#undef MLX_CUDA_FIND
#define MLX_CUDA_NEEDED(name, symbol, parameters) \
  if (!table.name) absent = #symbol;
  MLX_CUDA_FUNCTIONS(MLX_CUDA_NEEDED)
#undef MLX_CUDA_NEEDED
  int version = 0, count = 0;
  if (table.driver_version) table.driver_version(&version);
  if (absent) {
    reason =
        cat("NVIDIA's driver is too old: it serves CUDA ", version / 1000, ".", version % 1000 / 10,
            " and has no ", absent, "; one for CUDA 12 or later is needed");
    return 0;
  }
  int status = table.init(0);
  if (status == kSuccess) status = table.device_count(&count);
  const char* text = nullptr;
  if (status != kSuccess) table.error_text(status, &text);
  if (status != kSuccess || count == 0)
    reason = cat("NVIDIA's driver finds no GPU", text ? ": " : "", text ? text : "");
  return status == kSuccess ? count : 0;
}

const Driver& driver() { return table; }

void check(int status, const char* what) {
  if (status == kSuccess) return;
  const char *name = nullptr, *text = nullptr;
  table.error_name(status, &name);
  table.error_text(status, &text);
  if (status == kOutOfMemory)
    fail<MemoryError>("cuda", what, ": the device has no memory left for it");
  const std::string error =
      cat(name ? name : "unknown error", " (", text ? text : "no description", ")");
  if (is_fault(status)) fail<ExecutionError>("cuda", fault_text(error));
  fail<ExecutionError>("cuda", what, ": ", error);
}

}  // namespace mlx::core::cuda
