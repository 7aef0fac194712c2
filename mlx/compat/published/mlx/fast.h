// Composite functions with kernels of their own.
#pragma once

#include "mlx/ops/attention.h"
#include "mlx/ops/cross_entropy.h"
#include "mlx/ops/ctc.h"
#include "mlx/ops/custom_kernel.h"
#include "mlx/ops/delta.h"
#include "mlx/ops/norm.h"
#include "mlx/ops/rope.h"
