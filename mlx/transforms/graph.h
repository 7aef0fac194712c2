// A traced function as data: placeholders, what is computed from them, and what that reads besides.
#pragma once

#include <string>

#include "mlx/core/api.h"
#include "mlx/core/copy.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

/// Outputs over placeholders. Captured arrays are what the graph reads or gives that depends on no
/// placeholder: they keep the values that they have, however often the graph runs.
struct Graph {
  Arrays inputs, outputs, captured;
};

/// Runs `fun` once on placeholders like `inputs`.
MLX_API Graph trace(const Function& fun, const Arrays& inputs, const std::string& name);
/// The same graph with common subexpressions merged and ops that change nothing left out; every
/// bit of the results stays.
MLX_API Graph simplify(const Graph& g);
/// The arrays with what they share computed once and ops that change nothing left out, and so on;
/// evaluated arrays, and those of transformations under way, stay as they are.
MLX_API Arrays simplify(const Arrays& outputs);
/// The same graph without rules of the program: custom functions are what they compute.
Graph without_rules(const Graph& g);
/// The outputs of the graph over other inputs of the same dtypes and shapes.
MLX_API Arrays instantiate(const Graph& g, const Arrays& inputs);
/// The outputs of the graph over inputs of any shapes: every op is built again.
Arrays rebuild(const Graph& g, const Arrays& inputs);
/// The first op that would mean something else for inputs of other shapes, or null.
const OpDef* shape_bound_op(const Graph& g);

/// The nodes that are computed from the placeholders, inputs first; placeholders excluded.
std::vector<Node*> computed_nodes(const Graph& g);
/// The nodes that have to be computed for the arrays, inputs first.
std::vector<Node*> pending_nodes(const Arrays& outputs);

}  // namespace mlx::core
