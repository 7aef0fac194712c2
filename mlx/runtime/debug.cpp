// Counters and texts of the engine, for tests and tools.
#include "mlx/runtime/debug.h"

#include <iostream>
#include <unordered_set>

#include "mlx/core/environment.h"
#include "mlx/core/plugin.h"
#include "mlx/runtime/plan.h"

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

void print_if_wanted(const Plan& plan) {
  static const bool wanted = variable_has("MLX_DEBUG", "plan");
  if (!wanted) return;
  for (const auto& name : plan.step_names(true)) std::cerr << "step " << name << "\n";
}

}  // namespace mlx::core
