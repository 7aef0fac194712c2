// Materialization of filled arrays.
#include "mlx/ops/materialized.h"

#include "mlx/ops/cast.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

/// True if the evaluated array has memory for each element, though it repeats some in the graph.
bool is_filled(const array& a) {
  const Node* n = a.node();
  while (n->status == Status::pending && n->op->kind == OpKind::view) {
    if (n->op->distinct) return true;
    n = n->inputs()[0];
  }
  return false;
}

}  // namespace

array materialized(const array& a, Stream s) {
  return a.ndim() > 1 && is_filled(a) ? contiguous(a, false, s) : a;
}

}  // namespace mlx::core
