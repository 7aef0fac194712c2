// A traced function as data: placeholders, the nodes computed from them, and captured arrays.
#pragma once

#include <string>

#include "mlx/core/api.h"
#include "mlx/core/copy.h"
#include "mlx/core/trace.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

/// Outputs over placeholders. Captured arrays are arrays that the graph reads or returns and that
/// depend on no placeholder: their values are the same for every call.
struct Graph {
  Arrays inputs, outputs, captured;
};

/// Runs `fun` once on placeholders with the dtypes and shapes of `inputs`.
MLX_API Graph trace(const Function& fun, const Arrays& inputs, const std::string& name);
/// The graph with common subexpressions merged and identity ops removed. Results stay bitwise
/// equal.
MLX_API Graph simplify(const Graph& g);
/// The arrays with common subexpressions merged and identity ops removed. Evaluated arrays and
/// arrays of active transformations stay unchanged.
MLX_API Arrays simplify(const Arrays& outputs);
/// The graph without user-defined rules: custom functions are replaced by what they compute.
Graph without_rules(const Graph& g);
/// The outputs of the graph over other inputs of the same dtypes and shapes.
MLX_API Arrays instantiate(const Graph& g, const Arrays& inputs);
/// The outputs of the graph over inputs of any shapes: every op is built again.
Arrays rebuild(const Graph& g, const Arrays& inputs);
/// The first op that is not valid for inputs of other shapes, or null. `watch` began before the
/// graph was traced.
const OpDef* first_shape_dependent_op(const Graph& g, const ShapeWatch& watch);

/// True for an array through which an active transformation may follow a derivative: it depends on
/// the transformation's inputs by floating arrays that stop_gradient did not give. Large graphs are
/// not followed to their end, and count as such.
MLX_API bool may_have_derivative(const array& a);
/// True where MLX_STRICT_EXPORT asks for errors of values that leave while they have derivatives.
MLX_API bool exports_are_strict();

/// The nodes that depend on the placeholders, in topological order, without the placeholders.
std::vector<Node*> computed_nodes(const Graph& g);
/// The nodes that must be computed for the arrays, in topological order.
std::vector<Node*> pending_nodes(const Arrays& outputs);

}  // namespace mlx::core
