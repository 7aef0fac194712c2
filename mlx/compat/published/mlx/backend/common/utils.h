// Offsets of elements by their number.
#pragma once

#include "mlx/compat/strides.h"
