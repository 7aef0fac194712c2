// Finds and loads the plugins beside the engine's library.
#include "mlx/core/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "mlx/backend/plugin.h"
#include "mlx/core/device.h"
#include "mlx/core/error.h"

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

/// The reason of the library that was loaded last.
struct Missing {
  std::mutex mutex;
  std::string reason;
};
Missing& missing() {
  static auto& m = *new Missing;
  return m;
}

}  // namespace

void load_plugin(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail<FileError>("plugin", dlerror());
  const auto abi = reinterpret_cast<int (*)()>(dlsym(library, "mlx_plugin_abi"));
  const auto entry = reinterpret_cast<void (*)()>(dlsym(library, "mlx_register_backend"));
  if (!entry) fail<FileError>("plugin", path, " has no function mlx_register_backend");
  if (const int number = abi ? abi() : 0; number != kPluginAbi)
    fail<FileError>("plugin", path, " is of another build: its ABI is ", number, ", the engine's ",
                    kPluginAbi, "; install both from one package");
  entry();
  const auto why = reinterpret_cast<const char* (*)()>(dlsym(library, "mlx_missing_device"));
  std::lock_guard lock(missing().mutex);
  missing().reason = why ? why() : "";
}

void load_plugins() {
  static std::once_flag once;
  std::call_once(once, [] {
#ifdef __APPLE__
    const std::string name = "libmlx_metal.dylib";
#else
    const std::string name = "libmlx_cuda.so";
#endif
    const std::string folder = own_folder(), path = folder + name;
    std::string reason = "this build of mlx has no plugin for GPUs (" + name + ")";
    if (!folder.empty() && access(path.c_str(), R_OK) == 0) {
      try {
        return load_plugin(path);
      } catch (const FileError& e) {
        reason = e.what();
      }
    }
    std::lock_guard lock(missing().mutex);
    if (missing().reason.empty()) missing().reason = reason;
  });
}

std::string missing_gpu() {
  if (device_count(Device::gpu) > 0) return "";
  std::lock_guard lock(missing().mutex);
  return missing().reason;
}

}  // namespace mlx::core
