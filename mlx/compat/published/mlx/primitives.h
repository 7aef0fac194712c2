// Ops defined by deriving from a class.
#pragma once

#include "mlx/ops/custom.h"
