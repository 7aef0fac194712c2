// Whether NVIDIA GPUs can be used.
#pragma once

#include "mlx/compat/gpu.h"
