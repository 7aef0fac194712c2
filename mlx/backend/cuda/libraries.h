// Where NVIDIA's libraries are found.
#pragma once

#include <string>
#include <vector>

#include "mlx/backend/gpu/devices.h"
#include "mlx/backend/gpu/threads.h"

namespace mlx::core::cuda {

/// A library by one of its names: first what the process has loaded, then beside this package, then
/// in the folders of MLX_CUDA_LIBRARY_PATH, then where the system looks. Null where there is none.
/// `before`: the start of a name in the same folder that must be loaded first, or null.
void* open_library(const std::vector<std::string>& names, const char* before = nullptr);

/// Folders of NVIDIA's headers, where they are installed.
std::vector<std::string> header_folders();

/// The library that an environment variable names, else as above. Null where there is none, where
/// the variable is empty, and for a driver that is not the machine's, which knows other addresses.
void* open_library_of_device(const char* variable, const std::vector<std::string>& names,
                             const char* before = nullptr);

/// Sets pointers to functions of a library, all of which are needed.
class FunctionFinder {
 public:
  explicit FunctionFinder(void* library) : library_(library), found_all_(library) {}
  template <class F>
  void operator()(F*& function, const char* name) {
    function = reinterpret_cast<F*>(find(name));
  }
  /// Whether the library is there and has all functions that were asked for.
  bool found_all() const { return found_all_; }

 private:
  void* find(const char* name);

  void* library_;
  bool found_all_;
};

/// The functions that `open` finds, on a stack for libraries that need a large one.
template <class Functions>
Functions open_functions(Functions (*open)()) {
  Functions opened;
  gpu::on_own_stack([&] { opened = open(); });
  gpu::drain_at_exit();
  return opened;
}

}  // namespace mlx::core::cuda
