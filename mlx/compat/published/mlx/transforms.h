// Function transformations and evaluation.
#pragma once

#include "mlx/transforms/transforms.h"
