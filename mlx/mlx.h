// Everything an application needs.
#pragma once

#include "mlx/array.h"
#include "mlx/backend/backend.h"
#include "mlx/core/error.h"
#include "mlx/device.h"
#include "mlx/distributed/distributed.h"
#include "mlx/dtype.h"
#include "mlx/einsum.h"
#include "mlx/fast.h"
#include "mlx/io.h"
#include "mlx/memory.h"
#include "mlx/ops.h"
#include "mlx/random.h"
#include "mlx/stream.h"
#include "mlx/transforms.h"
#include "mlx/utils.h"
#include "mlx/version.h"
