// Elementwise tile kernels of the complex dtypes.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"

namespace mlx::core::cpu::MLX_ISA {

constinit const TileFn* const complex64_tiles = Tiles<Val::complex64, m::Cx<float>>::table;
constinit const TileFn* const complex128_tiles = Tiles<Val::complex128, m::Cx<double>>::table;

}  // namespace mlx::core::cpu::MLX_ISA
