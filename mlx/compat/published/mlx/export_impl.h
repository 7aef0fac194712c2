// Functions in files, while they are written and after they are read.
#pragma once

#include "mlx/transforms/export.h"
