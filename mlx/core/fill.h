// Filled arrays: views of one value whose results have memory for each element.
#pragma once

#include "mlx/core/node.h"

namespace mlx::core {

/// True if evaluation gives each element of `node` separate memory, though the graph repeats some:
/// a fill, or a view of one. A view of more elements than a fill has repeats them again, and
/// only promises to be read.
inline bool has_distinct_elements(const Node& node) {
  const Node* n = &node;
  while (n->status == Status::pending && n->op->kind == OpKind::view) {
    if (n->op->distinct) return true;
    const Node* in = n->inputs()[0];
    if (num_elements(n->shape) > num_elements(in->shape)) return false;
    n = in;
  }
  return false;
}

}  // namespace mlx::core
