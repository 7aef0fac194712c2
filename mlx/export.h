// Functions in files.
#pragma once

#include "mlx/transforms/export.h"
