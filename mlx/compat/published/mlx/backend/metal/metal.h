// The Metal backend, of which there is none yet.
#pragma once

#include "mlx/compat/gpu.h"
