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

}  // namespace mlx::core::cuda
