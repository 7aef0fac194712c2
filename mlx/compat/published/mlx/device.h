// Devices, and the threads of the CPU.
#pragma once

#include "mlx/backend/threads.h"
#include "mlx/core/device.h"
