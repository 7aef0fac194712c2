// Sources of kernels as Metal gets them: one text without includes, in Metal's language.
#pragma once

#include <string>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::metal {

/// How printed kernels begin, are declared and find their thread.
extern const gpu::KernelTarget metal_target;

/// Whether the threads of a kernel may share memory, which is an argument of it.
bool shares_memory(const std::string& code);

/// A source of the families with the texts that it includes, each once; its own names that are
/// words of Metal's language have others.
std::string whole_source(const std::string& source);

}  // namespace mlx::core::metal
