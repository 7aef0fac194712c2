// Saving and loading.
#pragma once

#include "mlx/io/io.h"
