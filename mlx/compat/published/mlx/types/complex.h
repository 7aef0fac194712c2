// The complex types.
#pragma once

#include "mlx/core/dtype.h"
