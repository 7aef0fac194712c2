// Kernels of whole layers.
#pragma once

#include "mlx/ops/norm.h"
