#include "mlx/runtime/debug.h"

#include <dlfcn.h>

#include "mlx/core/error.h"

namespace mlx::core {

void load_backend(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail<FileError>("load_backend", dlerror());
  auto entry = reinterpret_cast<void (*)()>(dlsym(library, "mlx_register_backend"));
  if (!entry) fail<FileError>("load_backend", path, " has no function mlx_register_backend");
  entry();
}

}  // namespace mlx::core
