// Byte streams that arrays are read from and written to.
#pragma once

#include "mlx/io/io.h"
#include "mlx/io/stream.h"
