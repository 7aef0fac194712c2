// Memory use and its limits.
#pragma once

#include "mlx/runtime/memory.h"
