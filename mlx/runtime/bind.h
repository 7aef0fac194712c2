// From arrays to executions: which plans compute them, bound to memory, results published.
#pragma once

#include <memory>
#include <vector>

#include "mlx/core/blocking.h"
#include "mlx/runtime/execute.h"

namespace mlx::core {

using Executions = std::vector<std::unique_ptr<Execution>>;

/// One evaluation is planned at a time: the scheduler leaves marks in the nodes.
EngineMutex& planning_lock();

// The caller of what follows holds the planning lock.

/// Binds what computes the arrays, in order: the calls among what they depend on, each by a plan of
/// its own, and a plan for the rest. Where it throws, what `out` has was published and must run.
void bind_all(Arrays todo, bool blocking, Executions& out);
/// A fresh plan for a schedule.
std::shared_ptr<Plan> plan_for(const Schedule& items);
/// True for a pending result of a bundle that has been computed.
bool is_computed_part(const Node* n);
/// Gives such a result its value.
void adopt(Node* part);
/// Gives a constant memory, which it has only once somebody asks for its address.
void store_constant(Node* constant);
/// Turns the cache of plans on or off.
void keep_plans(bool on);
/// Empties the cache of plans.
void forget_plans();

}  // namespace mlx::core
