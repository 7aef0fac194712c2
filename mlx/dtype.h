// Element types.
#pragma once

#include "mlx/core/dtype.h"
