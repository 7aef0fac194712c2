// Materialization of filled arrays.
#include "mlx/ops/materialized.h"

#include "mlx/core/fill.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/view.h"

namespace mlx::core {

array materialized(const array& a, Stream s) {
  return a.ndim() > 1 && has_distinct_elements(*a.node()) ? contiguous(a, false, s) : a;
}

array conjugate_transpose(const array& a, Stream s) {
  array t = swapaxes(materialized(a, s), -1, -2, s);
  return is_complex(a.dtype()) ? conjugate(t, s) : t;
}

}  // namespace mlx::core
