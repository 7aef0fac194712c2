// Devices.
#pragma once

#include "mlx/core/device.h"
