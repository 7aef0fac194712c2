// Memory for the outputs of primitives.
#pragma once

#include "mlx/ops/custom.h"
