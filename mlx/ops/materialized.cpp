// Materialization of filled arrays.
#include "mlx/ops/materialized.h"

#include "mlx/core/fill.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/view.h"

namespace mlx::core {

array materialized(const array& a, Stream s) {
  return a.ndim() > 1 && has_distinct_elements(*a.node()) ? contiguous(a, false, s) : a;
}

}  // namespace mlx::core
