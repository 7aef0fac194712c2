// Graphs of the host's driver: kernels, and captured work, in a chain.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "host_driver.h"

namespace {

struct NodeParameters {
  Function* function;
  unsigned grid[3], block[3], shared;
  void** parameters;
};
struct GraphNode {
  Function* function;  ///< null: the works are the node's
  MlxIndex grid, block;
  unsigned shared;
  std::vector<unsigned long long> arguments;
  Works works = {};
};
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  Works captured;
};
struct Instance {
  const Graph* graph;
  std::vector<GraphNode> nodes;
};
std::atomic<int64_t> instances{0}, graph_launches{0};

GraphNode node_of(const NodeParameters& p) {
  const auto* words = static_cast<const unsigned long long*>(p.parameters[0]);
  return {p.function,
          {p.grid[0], p.grid[1], p.grid[2]},
          {p.block[0], p.block[1], p.block[2]},
          p.shared,
          {words, words + words[-1]}};
}

/// Whether a node that follows these follows the last one.
bool chained(const Graph& g, GraphNode* const* before, size_t count) {
  return g.nodes.empty() ? count == 0 : count == 1 && *before == g.nodes.back().get();
}

thread_local Works* open_capture = nullptr;

}  // namespace

EXPORT int cuGraphCreate(Graph** g, unsigned) { return *g = new Graph, kSuccess; }
EXPORT int cuGraphDestroy(Graph* g) { return delete g, kSuccess; }
EXPORT int cuGraphAddKernelNode_v2(GraphNode** node, Graph* g, GraphNode* const* before,
                                   size_t count, const NodeParameters* p) {
  if (!chained(*g, before, count)) return kInvalidValue;
  g->nodes.push_back(std::make_unique<GraphNode>(node_of(*p)));
  return *node = g->nodes.back().get(), kSuccess;
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
  for (const GraphNode& n : i->nodes) {
    if (n.function) push_kernel(n.function, n.grid, n.block, s, n.arguments);
    for (const auto& work : n.works) push(*s, work);
  }
  return kSuccess;
}
EXPORT int cuGraphExecDestroy(Instance* i) { return delete i, --instances, kSuccess; }
/// How many graphs can be launched.
EXPORT int64_t mlx_host_graphs() { return instances; }
EXPORT int64_t mlx_host_graph_launches() { return graph_launches; }
