// Counters and texts of the engine, for tests and tools.
#include "mlx/runtime/debug.h"

#include <unordered_set>

#include "mlx/core/plugin.h"

namespace mlx::core {

void load_backend(const std::string& path) { load_plugin(path); }

std::vector<std::pair<std::string, int>> node_streams(const std::vector<array>& arrays) {
  std::vector<std::pair<std::string, int>> out;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> next;
  for (const array& a : arrays) next.push_back(a.node());
  while (!next.empty()) {
    const Node* n = next.back();
    next.pop_back();
    if (n->op->kind == OpKind::leaf || n->status == Status::available || !seen.insert(n).second)
      continue;
    out.emplace_back(n->op->name, n->stream);
    next.insert(next.end(), n->inputs().begin(), n->inputs().end());
  }
  return out;
}

}  // namespace mlx::core
