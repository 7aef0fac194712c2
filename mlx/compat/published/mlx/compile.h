// Compiled functions.
#pragma once

#include "mlx/transforms/compile.h"
