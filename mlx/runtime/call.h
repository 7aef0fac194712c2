// Calls: a graph over placeholders that runs as one node of its caller's graph, by its plan, which
// is made once and replayed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mlx/core/blocking.h"
#include "mlx/core/node_map.h"
#include "mlx/runtime/subject.h"

namespace mlx::core {

/// A bundle whose results are the outputs of a Body over its inputs.
extern const OpDef op_call;

/// A plan of a body, and where its leaves come from.
struct CallPlan {
  std::vector<uint64_t> form;        ///< layouts of the inputs and which of them may be taken over
  std::shared_ptr<const Plan> plan;  ///< its results name outputs in place of schedule items
  std::vector<int> sources;          ///< per leaf: an input, or -1 - k for captured array k
  std::vector<Scalar> constants;     ///< of all segments, one after another
  /// Constants that are tickets: the place of each, and which communication of the body it is of.
  std::vector<std::pair<size_t, size_t>> tickets;
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
  /// The ops that communicate, in their order.
  const std::vector<const Node*>& communication() const { return communication_; }
  /// Names of the steps of the plan used last.
  std::vector<std::string> steps() const;

 private:
  friend class CallSubject;
  void describe(const Node& call);
  std::shared_ptr<const CallPlan> find();
  void keep(std::shared_ptr<const CallPlan> plan);
  int capture(const Node* leaf);

  static constexpr size_t kMaxPlans = 8;
  mutable EngineMutex mutex_;  // of all below
  Arrays inputs_, outputs_, captured_;
  bool fused_;
  std::vector<const Node*> communication_;
  std::vector<std::shared_ptr<const CallPlan>> plans_;  // the one used last comes first
  // The inputs of the call at hand.
  std::vector<uint64_t> form_;
  std::vector<bool> dead_;
};

/// Results of a body over inputs of the dtypes and shapes of its placeholders.
Arrays make_call(const std::shared_ptr<Body>& body, const Arrays& inputs);

/// A call whose inputs have values. Its form is how these lie; the nodes of the body are scheduled
/// where no plan was made for that.
class CallSubject final : public Subject {
 public:
  CallSubject(Claims& claims, bool blocking, array call);
  void schedule() override;
  bool is_over() const override { return call_.node()->status == Status::available; }
  void find_plan() override;
  void keep_plan(std::shared_ptr<Plan> made) override;
  LeafValues leaves() const override;
  std::vector<Scalar> constants() const override;
  void publish() override;

 private:
  /// The placeholders have the values of the call's inputs while a plan is made.
  class BoundInputs {
   public:
    BoundInputs(const Arrays& inputs, const Node& call);
    ~BoundInputs();
    BoundInputs(const BoundInputs&) = delete;

   private:
    const Arrays& inputs_;
  };

  array call_;
  Body& body_;
  Claims::Impatient gives_way_;  // another evaluation may want the lock
  std::unique_lock<EngineMutex> lock_;
  std::optional<BoundInputs> bound_;
  NodeMap<int> input_of_;  // by placeholder
  std::shared_ptr<const CallPlan> chosen_;
};

}  // namespace mlx::core
