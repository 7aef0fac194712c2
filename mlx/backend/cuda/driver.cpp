#include "mlx/backend/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace mlx::core::cuda {

namespace {
Driver table;
}

int open_driver() {
  const char* given = std::getenv("MLX_CUDA_DRIVER");
  void* library = dlopen(given ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return 0;
  bool complete = true;
#define MLX_CUDA_FIND(name, symbol, parameters)                                 \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #symbol)); \
  complete = complete && table.name;
  MLX_CUDA_FUNCTIONS(MLX_CUDA_FIND)
#undef MLX_CUDA_FIND
  int count = 0;
  if (!complete || table.init(0) || table.device_count(&count)) return 0;
  return count;
}

const Driver& driver() { return table; }

void check(int status, const char* what) {
  if (status == kSuccess) return;
  const char *name = nullptr, *text = nullptr;
  table.error_name(status, &name);
  table.error_text(status, &text);
  if (status == kOutOfMemory)
    fail<MemoryError>("cuda", what, ": the device has no memory left for it");
  fail<ExecutionError>("cuda", what, ": ", name ? name : "unknown error", " (",
                       text ? text : "no description", ")");
}

}  // namespace mlx::core::cuda
