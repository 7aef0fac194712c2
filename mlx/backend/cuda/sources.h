// The text of headers that kernels include, held in the library.
#pragma once

namespace mlx::core::cuda {

struct EmbeddedSource {
  const char* name;  ///< as it is included
  const char* text;
};
extern const EmbeddedSource embedded_sources[];
extern const int embedded_count;

}  // namespace mlx::core::cuda
