// The two halves of vmap.
#pragma once

#include "mlx/transforms/transforms.h"
