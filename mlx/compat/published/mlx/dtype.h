// Element types.
#pragma once

#include "mlx/core/dtype.h"
#include "mlx/types/half_types.h"
