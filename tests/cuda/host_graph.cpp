// Graphs of the host's driver: kernels, and captured work, in a chain.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "host_driver.h"

namespace {

struct NodeParameters {
  Function* function;
  unsigned grid[3], block[3], shared;
  void** parameters;
};
struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
struct GraphNode {
  Function* function;  ///< null: the works are the node's
  MlxIndex grid, block;
  unsigned shared;
  std::vector<unsigned long long> arguments;
  Works works = {};
  bool overlaps = false;  ///< it may begin before the end of the one before
};
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  Works captured;
  bool connected = true;  ///< the last node follows the one before
};
struct Instance {
  const Graph* graph;
  std::vector<GraphNode> nodes;
};
std::atomic<int64_t> instances{0}, graph_launches{0}, overlaps{0};

GraphNode node_of(const NodeParameters& p) {
  const auto* words = static_cast<const unsigned long long*>(p.parameters[0]);
  return {p.function,
          {p.grid[0], p.grid[1], p.grid[2]},
          {p.block[0], p.block[1], p.block[2]},
          p.shared,
          {words, words + words[-1]}};
}

/// Whether a node that follows these follows the last one; a kernel may be told later.
bool chained(const Graph& g, GraphNode* const* before, size_t count) {
  if (!g.connected) return false;
  return g.nodes.empty() ? count == 0 : count == 1 && *before == g.nodes.back().get();
}

thread_local Works* open_capture = nullptr;

// A kernel that begins early runs up to its wait in front of the kernel before, which then runs in
// another thread, with other variables.
thread_local std::function<void()> kernel_before;
std::function<void()> after_beginning(std::function<void()> kernel, std::function<void()> before) {
  return [kernel = std::move(kernel), before = std::move(before)] {
    kernel_before = before;
    kernel();
    if (!kernel_before) return;
    count_fault();  // it has not waited
    std::exchange(kernel_before, {})();
  };
}

}  // namespace

EXPORT void mlx_wait_for_kernel_before() {
  if (auto before = std::exchange(kernel_before, {})) std::thread(before).join();
}
EXPORT int cuGraphCreate(Graph** g, unsigned) { return *g = new Graph, kSuccess; }
EXPORT int cuGraphDestroy(Graph* g) { return delete g, kSuccess; }
EXPORT int cuGraphAddKernelNode_v2(GraphNode** node, Graph* g, GraphNode* const* before,
                                   size_t count, const NodeParameters* p) {
  const bool later = count == 0 && !g->nodes.empty() && g->connected;
  if (!later && !chained(*g, before, count)) return kInvalidValue;
  g->connected = !later;
  g->nodes.push_back(std::make_unique<GraphNode>(node_of(*p)));
  return *node = g->nodes.back().get(), kSuccess;
}
EXPORT int cuGraphAddDependencies_v2(Graph* g, GraphNode* const* from, GraphNode* const* to,
                                     const EdgeData* edge, size_t count) {
  const size_t n = g->nodes.size();
  if (g->connected || count != 1 || *to != g->nodes[n - 1].get() || *from != g->nodes[n - 2].get())
    return kInvalidValue;
  // Kernels alone may overlap.
  if (edge->from_port != 1 || edge->type != 1 || !(*from)->function || !(*to)->function)
    return kInvalidValue;
  g->nodes[n - 1]->overlaps = true;
  ++overlaps;
  return g->connected = true, kSuccess;
}
EXPORT int cuStreamBeginCapture_v2(Stream* s, int) {
  auto* list = new Works;
  if (!capture(*s, list)) return delete list, kInvalidValue;
  open_capture = list;
  return kSuccess;
}
EXPORT int cuStreamEndCapture(Stream* s, Graph** g) {
  if (!open_capture || !capture(*s, nullptr)) return kInvalidValue;
  *g = new Graph{{}, std::move(*open_capture)};
  return delete std::exchange(open_capture, nullptr), kSuccess;
}
EXPORT int cuGraphAddChildGraphNode(GraphNode** node, Graph* g, GraphNode* const* before,
                                    size_t count, const Graph* child) {
  if (!chained(*g, before, count)) return kInvalidValue;
  g->nodes.push_back(std::make_unique<GraphNode>());
  g->nodes.back()->works = child->captured;
  return *node = g->nodes.back().get(), kSuccess;
}
EXPORT int cuGraphInstantiateWithFlags(Instance** made, const Graph* g, unsigned long long) {
  if (!g->connected) return kInvalidValue;
  if (fails_now(kFailGraph)) return kOutOfMemory;
  auto instance = std::make_unique<Instance>(Instance{g, {}});
  for (const auto& node : g->nodes) instance->nodes.push_back(*node);
  ++instances;
  return *made = instance.release(), kSuccess;
}
EXPORT int cuGraphExecKernelNodeSetParams_v2(Instance* i, const GraphNode* node,
                                             const NodeParameters* p) {
  for (size_t k = 0; k < i->nodes.size(); ++k) {
    if (i->graph->nodes[k].get() != node) continue;
    GraphNode given = node_of(*p);
    GraphNode& at = i->nodes[k];
    if (given.function != at.function || given.arguments.size() != at.arguments.size())
      return kInvalidValue;
    if (fails_now(kFailGraph)) return kOutOfMemory;
    given.overlaps = at.overlaps;
    return at = std::move(given), kSuccess;
  }
  return kInvalidValue;
}
EXPORT int cuGraphLaunch(Instance* i, Stream* s) {
  ++graph_launches;
  for (const GraphNode& n : i->nodes) {
    if (!n.function) continue;
    if (const int status = check_launch(n.function, n.grid, n.block, n.shared, s)) return status;
  }
  std::function<void()> before;  // of the next kernel
  for (size_t k = 0; k < i->nodes.size(); ++k) {
    const GraphNode& n = i->nodes[k];
    for (const auto& work : n.works) push(*s, work);
    if (!n.function) continue;
    auto work = kernel_work(n.function, n.grid, n.block, n.arguments);
    const GraphNode* const next = k + 1 < i->nodes.size() ? &i->nodes[k + 1] : nullptr;
    if (!before && next && next->overlaps && begins_early(next->function))
      before = std::move(work);
    else
      push(*s, before ? after_beginning(std::move(work), std::exchange(before, {})) : work);
  }
  return kSuccess;
}
EXPORT int cuGraphExecDestroy(Instance* i) { return delete i, --instances, kSuccess; }
/// How many graphs can be launched.
EXPORT int64_t mlx_host_graphs() { return instances; }
EXPORT int64_t mlx_host_graph_launches() { return graph_launches; }
/// How many kernels of graphs may begin before the end of the one before.
EXPORT int64_t mlx_host_graph_overlaps() { return overlaps; }
