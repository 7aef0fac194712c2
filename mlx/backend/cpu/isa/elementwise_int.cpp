// Elementwise tile kernels of bool and the integers.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"

namespace mlx::core::cpu::MLX_ISA {

template void choose<uint8_t>(const void* const*, void*, int64_t);
template void choose<uint16_t>(const void* const*, void*, int64_t);
template void choose<uint32_t>(const void* const*, void*, int64_t);
template void choose<uint64_t>(const void* const*, void*, int64_t);

constinit const TileFn* const bool_tiles = Tiles<Val::bool_, bool>::table;
constinit const TileFn* const uint8_tiles = Tiles<Val::uint8, uint8_t>::table;
constinit const TileFn* const uint16_tiles = Tiles<Val::uint16, uint16_t>::table;
constinit const TileFn* const uint32_tiles = Tiles<Val::uint32, uint32_t>::table;
constinit const TileFn* const uint64_tiles = Tiles<Val::uint64, uint64_t>::table;
constinit const TileFn* const int8_tiles = Tiles<Val::int8, int8_t>::table;
constinit const TileFn* const int16_tiles = Tiles<Val::int16, int16_t>::table;
constinit const TileFn* const int32_tiles = Tiles<Val::int32, int32_t>::table;
constinit const TileFn* const int64_tiles = Tiles<Val::int64, int64_t>::table;

}  // namespace mlx::core::cpu::MLX_ISA
