// Compilation of functions that a number stands for.
#pragma once

#include "mlx/transforms/compile.h"
