// The texts of kernels in Metal's language, held in the library; cmake/metal_texts.py writes them.
#pragma once

namespace mlx::core::metal {

struct Source {
  const char* name;  ///< as it is included
  const char* text;
};
extern const Source sources[];
extern const int source_count;

}  // namespace mlx::core::metal
