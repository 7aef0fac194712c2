// Elementwise tile kernels of float32, with their non-temporal variants.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"

namespace mlx::core::cpu::MLX_ISA {

constinit const TileFn* const float32_tiles = Tiles<Val::float32, Float32>::table;
constinit const TileFn* const float32_nt_tiles = Tiles<Val::float32, Float32, true>::table;

}  // namespace mlx::core::cpu::MLX_ISA
