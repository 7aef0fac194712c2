// A model of the arithmetic of AMX in plain C++: the reference for the unit, and a stand-in that
// tests packing and blocking on processors without it.
#pragma once

#include "mlx/backend/cpu/isa/gemm_tiles.h"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// One element after one step of `pairs` pairs along K, as TileUnit says.
MLX_API float tile_model_step(float sum, const uint16_t* a, const uint16_t* b, int64_t b_pair,
                              int64_t pairs);  // exported for tests

/// The unit of the model. It needs no state of the thread.
extern const TileUnit tile_model;

}  // namespace mlx::core::cpu
