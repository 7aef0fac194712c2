// The folders in which NVIDIA's libraries are looked for.
#include "mlx/backend/cuda/libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace mlx::core::cuda {

namespace {

namespace fs = std::filesystem;

/// The folder of the Python environment's packages, or an empty path: this library is in mlx/lib.
fs::path packages() {
  Dl_info info;
  static const char here = 0;
  if (!dladdr(&here, &info) || !info.dli_fname) return {};
  std::error_code ignored;
  return fs::absolute(info.dli_fname, ignored).parent_path().parent_path().parent_path();
}

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  if (fs::path root = packages(); !root.empty()) {
    found.push_back(root / "nvidia" / "cu13" / "lib");
    found.push_back(root / "nvidia" / "cuda_nvrtc" / "lib");
    found.push_back(root / "nvidia" / "nccl" / "lib");
    found.push_back(root / "nvidia" / "cudnn" / "lib");
  }
  if (const char* given = std::getenv("MLX_CUDA_LIBRARY_PATH")) {
    std::istringstream list(given);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) found.push_back(folder);
  }
#ifdef MLX_CUDA_PACKAGES
  found.push_back(MLX_CUDA_PACKAGES);
#endif
  return found;
}

void load_first(const fs::path& folder, const std::string& start) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(start))
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

void* open_library(const std::vector<std::string>& names, const char* before) {
  for (const std::string& name : names)
    if (void* loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) return loaded;
  for (const fs::path& folder : folders()) {
    for (const std::string& name : names) {
      std::error_code error;
      if (!fs::exists(folder / name, error)) continue;
      if (before) load_first(folder, before);
      if (void* library = dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  for (const std::string& name : names)
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

std::vector<std::string> header_folders() {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::path& folder : folders())
    for (const fs::path& headers :
         {folder.parent_path() / "include", folder.parent_path() / "include" / "cccl"})
      if (fs::is_directory(headers, error)) found.push_back(headers.string());
  if (fs::is_directory("/usr/local/cuda/include", error))
    found.emplace_back("/usr/local/cuda/include");
  return found;
}

void* open_library_of_device(const char* variable, const std::vector<std::string>& names,
                             const char* before) {
  // An empty name would mean the program, which may have another library's functions.
  if (const char* given = std::getenv(variable))
    return *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : nullptr;
  return std::getenv("MLX_CUDA_DRIVER") ? nullptr : open_library(names, before);
}

void* FunctionFinder::find(const char* name) {
  void* const function = library_ ? dlsym(library_, name) : nullptr;
  found_all_ = found_all_ && function;
  return function;
}

}  // namespace mlx::core::cuda
