// Streams.
#pragma once

#include "mlx/core/device.h"
#include "mlx/runtime/evaluate.h"
