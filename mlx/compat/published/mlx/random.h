// Random numbers.
#pragma once

#include "mlx/ops/random.h"
