// Arrays.
#pragma once

#include "mlx/core/array.h"
