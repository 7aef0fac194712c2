// Where NVIDIA's libraries are found.
#pragma once

#include <string>
#include <vector>

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

}  // namespace mlx::core::cuda
