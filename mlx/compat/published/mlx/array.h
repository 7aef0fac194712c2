// Arrays.
#pragma once

#include "mlx/core/array.h"
#include "mlx/types/half_types.h"
