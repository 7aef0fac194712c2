// Collectives.
#pragma once

#include "mlx/distributed/distributed.h"
