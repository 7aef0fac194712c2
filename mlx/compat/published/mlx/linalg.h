// Linear algebra.
#pragma once

#include "mlx/ops/linalg.h"
#include "mlx/ops/linalg_functions.h"
