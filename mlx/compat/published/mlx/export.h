// Export and import of functions.
#pragma once

#include "mlx/transforms/export.h"
