// Primitives on NVIDIA GPUs: their stream, the addresses of their arrays, their memory.
#pragma once

#include "mlx/compat/gpu.h"
#include "mlx/ops/custom_device.h"
