// Graphs as text.
#pragma once

#include "mlx/compat/graph.h"
#include "mlx/transforms/export.h"
