// Copies of nodes over other inputs.
#include "mlx/core/copy.h"

#include <algorithm>

namespace mlx::core {

array copy_node(const Node& n, const Arrays& inputs) {
  array out = make_node(*n.op, n.shape, n.dtype, Stream(n.stream), inputs, n.attrs);
  Node* to = out.node();
  to->part = n.part;
  if (n.origin) to->origin = n.origin;
  if (n.parts) {
    to->parts = new std::vector<PartInfo>;
    for (const PartInfo& p : *n.parts) to->parts->push_back({p.shape, p.dtype, {}});
  }
  return out;
}

bool same_outputs(const Node& a, const Node& b) {
  if (!a.parts || !b.parts) return a.parts == b.parts;
  return std::ranges::equal(*a.parts, *b.parts, [](const PartInfo& p, const PartInfo& q) {
    return p.shape == q.shape && p.dtype == q.dtype;
  });
}

}  // namespace mlx::core
