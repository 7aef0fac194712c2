// Kernels from source: NVRTC, opened when the first kernel is compiled.
#pragma once

#include <string>

namespace mlx::core::cuda {

/// Machine code of a source for an architecture ("sm_90"). The source may include what the library
/// holds (sources.h). Throws ExecutionError with the compiler's log. Threads may compile at once.
std::string compile(const std::string& source, const std::string& architecture);

/// The base of compiled code beside its source and architecture: the compiler's version, its
/// options and the text of the headers.
const std::string& compiler_identity();

}  // namespace mlx::core::cuda
