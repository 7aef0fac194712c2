// Materialization of views that repeat elements.
#include "mlx/ops/repeats.h"

#include "mlx/ops/cast.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

bool repeats(const array& a) {
  const Node* n = a.node();
  while (n->status == Status::pending && n->op->kind == OpKind::view) {
    if (repeats_input(n->op)) return true;
    n = n->inputs()[0];
  }
  return n->op == &op_constant;
}

}  // namespace

array materialized(const array& a, Stream s) {
  return a.ndim() > 1 && repeats(a) ? contiguous(a, false, s) : a;
}

}  // namespace mlx::core
