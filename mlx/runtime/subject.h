// The subjects of the passes: the graph behind some arrays, or a call of a compiled function
// (call.h).
#pragma once

#include <memory>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/runtime/execute.h"
#include "mlx/runtime/fuse.h"

namespace mlx::core {

using LeafValues = SmallVector<const Value*, 16>;

/// A graph or a call on its way through the passes. Threads plan at once, each with its own.
struct Subject {
  Subject(Claims& claims, bool blocking) : claims(claims), blocking(blocking) {}
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;

  /// Claims the nodes to compute and notes them in `items`; of a call no more than its inputs.
  virtual void schedule() = 0;
  /// True where nothing has to be computed.
  virtual bool is_over() const = 0;
  /// Sets `plan` to one that was made for the same form, where there is one. Otherwise `items` are
  /// the nodes to plan.
  virtual void find_plan() = 0;
  /// Sets `plan` to a new one, and keeps it for others of the same form.
  virtual void keep_plan(std::shared_ptr<Plan> made) = 0;
  /// The values of the plan's leaves.
  virtual LeafValues leaves() const = 0;
  /// The constants of the plan's segments, one after another.
  virtual std::vector<Scalar> constants() const = 0;
  /// Writes the results into the nodes, which then count as evaluated.
  virtual void publish() = 0;

  Claims& claims;
  const bool blocking;  ///< the caller waits
  bool fused = true;    ///< several nodes may become one kernel
  Schedule items;
  Targets targets;
  Groups groups;
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Execution> execution;
};

/// The graph behind some arrays.
class GraphSubject final : public Subject {
 public:
  GraphSubject(Claims& claims, bool blocking, Arrays outputs)
      : Subject(claims, blocking), outputs_(std::move(outputs)) {}
  void schedule() override;
  bool is_over() const override { return outputs_.empty(); }
  void find_plan() override;
  void keep_plan(std::shared_ptr<Plan> made) override;
  LeafValues leaves() const override;
  std::vector<Scalar> constants() const override;
  void publish() override;

  bool shares_plans = true;  ///< with other graphs of the same form

 private:
  Arrays outputs_;
};

/// A fresh plan for those of the arrays that are not evaluated.
MLX_API std::shared_ptr<const Plan> plan_of(const Arrays& outputs, Claims& claims);

/// Turns the cache of plans on or off.
void enable_plan_cache(bool on);
/// Empties the cache of plans.
void clear_plan_cache();

}  // namespace mlx::core
