// The pass `publish`: results become the values of their nodes.
#pragma once

#include "mlx/runtime/execute.h"
#include "mlx/runtime/schedule.h"

namespace mlx::core {

/// Writes the results into their nodes and lets go of the graph behind them.
void publish(const Execution& x, const Schedule& items);

/// True for a constant without memory; for nodes that another thread may publish at this moment.
bool is_pending_constant(const Node* n);
/// True for a pending result of a bundle that has been computed.
bool is_computed_part(const Node* n);
/// Gives such a result, which the caller has claimed, its value.
void adopt(Node* part);
/// Gives a constant, which the caller has claimed, memory, which it has only once its
/// address is needed.
void store_constant(Node* constant);

}  // namespace mlx::core
