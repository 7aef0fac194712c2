// The start of every kernel for Metal: the math library over one lane, elements and their places.
// Each header needs those above it.
#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

// clang-format off
#include "mlx/backend/metal/device/types.h"
#include "mlx/backend/metal/device/double.h"
#include "mlx/backend/metal/device/functions.h"

#define MLX_OWN_PIECES
#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/program.cuh"
#include "mlx/backend/metal/device/library.h"
#include "mlx/backend/metal/device/pieces.h"
#include "mlx/backend/metal/device/target.h"
// clang-format on
