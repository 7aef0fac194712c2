// The devices of GPU backends.
#pragma once

#include "mlx/compat/gpu.h"
