// From arrays to executions: which plans compute them, bound to memory, results published.
#pragma once

#include <memory>
#include <vector>

#include "mlx/runtime/execute.h"

namespace mlx::core {

using Executions = std::vector<std::unique_ptr<Execution>>;

/// Binds what computes the arrays, in order: the calls among what they depend on, each by a plan of
/// its own, and a plan for the rest. Where it throws, what `out` has was published and must run.
/// Called again after a conflict, it goes on where it was.
void bind_all(const Arrays& outputs, Claims& claims, bool blocking, Executions& out);

/// A fresh plan for what is not evaluated among the arrays.
std::shared_ptr<const Plan> plan_of(const Arrays& outputs, Claims& claims);

/// Turns the cache of plans on or off.
void enable_plan_cache(bool on);
/// Empties the cache of plans.
void clear_plan_cache();

}  // namespace mlx::core
