// All public operations on arrays.
#pragma once

#include "mlx/ops/cast.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/conv.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/einsum.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/index.h"
#include "mlx/ops/indexing.h"
#include "mlx/ops/matmul.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/scan.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/softmax.h"
#include "mlx/ops/sort.h"
#include "mlx/ops/view.h"
