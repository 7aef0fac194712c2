// Finds and loads the plugins beside the engine's library.
#include "mlx/core/plugin.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

namespace mlx::core {

namespace {

/// The folder of the engine's library, with a slash at the end.
std::string own_folder() {
  static const char here = 0;
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

void load_plugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string folder = own_folder();
    if (folder.empty()) return;
    void* library = dlopen((folder + "libmlx_cuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    if (void* entry = dlsym(library, "mlx_register_backend")) reinterpret_cast<void (*)()>(entry)();
  });
}

}  // namespace mlx::core
