// Einstein summation.
#pragma once

#include "mlx/ops/einsum.h"
