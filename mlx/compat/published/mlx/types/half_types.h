// The 16-bit floating types.
#pragma once

#include "mlx/compat/half_arithmetic.h"
