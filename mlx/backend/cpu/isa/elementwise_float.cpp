// Elementwise tile kernels of float64 and of the 16-bit floats.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"

namespace mlx::core::cpu::MLX_ISA {

constinit const TileFn* const float64_tiles = Tiles<Val::float64, Float64>::table;
constinit const TileFn* const float16_tiles = Tiles<Val::float16, Float16>::table;
constinit const TileFn* const bfloat16_tiles = Tiles<Val::bfloat16, Bfloat16>::table;

}  // namespace mlx::core::cpu::MLX_ISA
