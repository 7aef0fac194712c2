// Calls: a graph over placeholders that runs as one node of its caller's graph, by a plan of its
// own that is made once and replayed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlx/core/blocking.h"
#include "mlx/runtime/execute.h"

namespace mlx::core {

/// A bundle whose results are the outputs of a Body over its inputs.
extern const OpDef op_call;

/// A plan of a body, and where its leaves come from.
struct CallPlan {
  std::vector<uint64_t> form;        ///< layouts of the inputs and which of them may be taken over
  std::shared_ptr<const Plan> plan;  ///< its results name outputs in place of schedule items
  std::vector<int> sources;          ///< per leaf: an input, or -1 - k for captured array k
  std::vector<Scalar> constants;     ///< of all segments, one after another
  std::vector<std::string> steps;
};

/// A graph with placeholders for inputs, and the plans that run it. Plans differ in the layouts of
/// the inputs and in which inputs are dead after the call, so that their memory may be taken over.
class Body {
 public:
  /// Outputs are computed from placeholders or captured arrays: none of them is either itself.
  /// `captured` are the evaluated arrays that the graph reads.
  Body(Arrays inputs, Arrays outputs, Arrays captured, bool fused = true);

  const Arrays& inputs() const { return inputs_; }
  const Arrays& outputs() const { return outputs_; }
  /// Names of the steps of the plan used last.
  std::vector<std::string> steps() const;
  /// Makes the plan for a call whose inputs have values, if it is not there yet.
  std::shared_ptr<const CallPlan> plan_for(const Node& call, Claims& claims);
  /// Binds a plan to the values of a call's inputs.
  std::unique_ptr<Execution> bind(const Node& call, Claims& claims, bool blocking);

 private:
  class BoundInputs;
  std::shared_ptr<const CallPlan> find(const Node& call, Claims& claims);
  void describe(const Node& call);
  std::shared_ptr<const CallPlan> make(const Node& call, Claims& claims);
  int source_of(const Node* leaf);

  static constexpr size_t kMaxPlans = 8;
  mutable EngineMutex mutex_;  // of all below
  Arrays inputs_, outputs_, captured_;
  bool fused_;
  std::vector<std::shared_ptr<const CallPlan>> plans_;  // the one used last comes first
  // The inputs of the call at hand.
  std::vector<uint64_t> form_;
  std::vector<bool> dead_;
};

/// Results of a body over inputs of the dtypes and shapes of its placeholders.
Arrays make_call(const std::shared_ptr<Body>& body, const Arrays& inputs);
/// The body of a node of op_call.
Body& body_of(const Node& call);
/// Publishes the results of a call that has been bound.
void publish_call(const Execution& x, Node& call);

}  // namespace mlx::core
