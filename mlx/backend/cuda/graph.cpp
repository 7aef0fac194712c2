// Graphs of the driver, whose nodes form a chain.
#include "mlx/backend/cuda/graph.h"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace mlx::core::cuda {

namespace {

class Graph final : public gpu::DeviceGraph {
 public:
  Graph(ContextHandle context, bool overlaps)
      : context_(context), overlaps_(overlaps && driver().connect) {}
  ~Graph() override {
    driver().set_context(context_);
    if (instance_) driver().destroy_instance(instance_);
    if (graph_) driver().destroy_graph(graph_);
  }
  Graph(const Graph&) = delete;

  /// The status of the first call of the driver that fails. Throws what a library throws.
  int build(std::span<const gpu::DeviceCall> calls, StreamHandle stream) {
    int status = driver().create_graph(&graph_, 0);
    bool after_kernel = false;
    for (const gpu::DeviceCall& c : calls) {
      if (status != kSuccess) return status;
      const NodeHandle* const before = nodes_.empty() ? nullptr : &nodes_.back();
      NodeHandle added = nullptr;
      if (c.library)
        status = add_library(c, stream, before, added);
      else if (after_kernel && overlaps_)
        status = add_overlapping(c, before, added);
      else
        status = add_kernel(c, before, added);
      after_kernel = !c.library;
      nodes_.push_back(added);
    }
    return status == kSuccess ? driver().instantiate(&instance_, graph_, 0) : status;
  }
  void set(size_t k, const gpu::DeviceCall& kernel) override {
    Node node(kernel);
    check(driver().set_kernel(instance_, nodes_[k], &node.parameters),
          "cuGraphExecKernelNodeSetParams");
  }
  void launch(StreamHandle stream) override {
    check(driver().launch_graph(instance_, stream), "cuGraphLaunch");
  }

 private:
  struct Node {
    explicit Node(const gpu::DeviceCall& k) : arguments(const_cast<int64_t*>(&k.arguments[1])) {
      parameters = {.function = k.function.handle,
                    .blocks = {static_cast<unsigned>(k.blocks), 1, 1},
                    .threads = {static_cast<unsigned>(k.threads), 1, 1},
                    .shared = static_cast<unsigned>(k.shared),
                    .arguments = &arguments};
    }
    Node(const Node&) = delete;

    void* arguments;
    KernelNode parameters;
  };

  int add_kernel(const gpu::DeviceCall& call, const NodeHandle* before, NodeHandle& added) {
    Node node(call);
    return driver().add_kernel(&added, graph_, before, before ? 1 : 0, &node.parameters);
  }
  /// A kernel that waits for the end of the one before by itself, as all of this room do.
  int add_overlapping(const gpu::DeviceCall& call, const NodeHandle* before, NodeHandle& added) {
    const int status = add_kernel(call, nullptr, added);
    return status == kSuccess ? driver().connect(graph_, before, &added, &kProgrammatic, 1)
                              : status;
  }
  /// The work that the library enqueues, as a graph in this graph.
  int add_library(const gpu::DeviceCall& call, StreamHandle stream, const NodeHandle* before,
                  NodeHandle& added) {
    GraphHandle captured = nullptr;
    int status = driver().begin_capture(stream, kRelaxedCapture);
    if (status != kSuccess) return status;
    std::exception_ptr error;
    try {
      call.library(stream);
    } catch (...) {
      error = std::current_exception();
    }
    status = driver().end_capture(stream, &captured);
    if (status == kSuccess && !error)
      status = driver().add_graph(&added, graph_, before, before ? 1 : 0, captured);
    if (captured) driver().destroy_graph(captured);
    if (error) std::rethrow_exception(error);
    return status;
  }

  const ContextHandle context_;
  const bool overlaps_;
  GraphHandle graph_ = nullptr;
  InstanceHandle instance_ = nullptr;
  std::vector<NodeHandle> nodes_;
};

}  // namespace

bool graphs_allowed() {
  static const bool allowed = [] {
    const char* given = std::getenv("MLX_USE_CUDA_GRAPHS");
    return !given || std::string_view(given) != "0";
  }();
  return allowed;
}

std::unique_ptr<gpu::DeviceGraph> make_graph(ContextHandle context, bool overlaps,
                                             std::span<const gpu::DeviceCall> calls,
                                             StreamHandle stream) {
  auto graph = std::make_unique<Graph>(context, overlaps);
  if (graph->build(calls, stream) != kSuccess) return nullptr;
  return graph;
}

}  // namespace mlx::core::cuda
