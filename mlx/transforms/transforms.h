// Function transformations: derivatives and vectorization. Each takes a function of arrays and
// returns another one, which can be transformed again.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "mlx/core/api.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/transforms/custom_function.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

using ValueAndGradFn = std::function<std::pair<Arrays, Arrays>(const Arrays&)>;
using SimpleValueAndGradFn = std::function<std::pair<array, Arrays>(const Arrays&)>;
using UnaryFunction = std::function<array(const array&)>;
using BinaryFunction = std::function<array(const array&, const array&)>;
using ScalarFunction = std::function<array(const Arrays&)>;

/// Outputs of `fun` and the vector-Jacobian products of `cotangents`, one per primal (zeros if the
/// outputs do not depend on it). Throws ValueError if counts or shapes of cotangents and outputs
/// differ, and for an op without a derivative.
MLX_API std::pair<Arrays, Arrays> vjp(const Function& fun, const Arrays& primals,
                                      const Arrays& cotangents);
MLX_API std::pair<array, array> vjp(const UnaryFunction& fun, const array& primal,
                                    const array& cotangent);

/// Outputs of `fun` and the Jacobian-vector products of `tangents`, one per output.
MLX_API std::pair<Arrays, Arrays> jvp(const Function& fun, const Arrays& primals,
                                      const Arrays& tangents);
MLX_API std::pair<array, array> jvp(const UnaryFunction& fun, const array& primal,
                                    const array& tangent);

/// A function that returns the outputs of `fun`, of which the first must be a scalar, and the
/// gradients of that scalar with respect to the arguments `argnums` (negative ones count from the
/// end).
MLX_API ValueAndGradFn value_and_grad(const Function& fun, const std::vector<int>& argnums);
MLX_API ValueAndGradFn value_and_grad(const Function& fun, int argnum = 0);
MLX_API SimpleValueAndGradFn value_and_grad(const ScalarFunction& fun,
                                            const std::vector<int>& argnums);
MLX_API SimpleValueAndGradFn value_and_grad(const ScalarFunction& fun, int argnum = 0);
MLX_API std::function<std::pair<array, array>(const array&)> value_and_grad(
    const UnaryFunction& fun);

MLX_API Function grad(const ScalarFunction& fun, const std::vector<int>& argnums);
MLX_API Function grad(const ScalarFunction& fun, int argnum = 0);
MLX_API UnaryFunction grad(const UnaryFunction& fun);

/// Axes that a function is mapped over, one per array; none for arrays that are not mapped.
using MappedAxes = std::vector<std::optional<int>>;
/// The outputs of `fun` for each position along the mapped axes of `inputs`, stacked along the axes
/// that `out_axes` returns for the number of outputs. Negative axes count from the end. Throws
/// IndexError for axes out of range, ValueError if mapped lengths differ or no input is mapped. An
/// op without a rule becomes a loop op.
MLX_API Arrays vmap_call(const Function& fun, const Arrays& inputs, const MappedAxes& in_axes,
                         const std::function<MappedAxes(size_t)>& out_axes);
/// A function mapped over the axes of its arguments (-1: not mapped; no list: the first axis of
/// each), whose outputs have the batch axis at `out_axes`.
MLX_API Function vmap(const Function& fun, const std::vector<int>& in_axes = {},
                      const std::vector<int>& out_axes = {});
MLX_API UnaryFunction vmap(const UnaryFunction& fun, int in_axis = 0, int out_axis = 0);
MLX_API BinaryFunction vmap(const BinaryFunction& fun, int in_axis_a = 0, int in_axis_b = 0,
                            int out_axis = 0);

// The two halves of `vmap`, for bindings of other languages that run code between them.
namespace detail {
/// Calls `fun` on inputs without the axes `in_axes` (-1: not mapped). Returns these inputs and the
/// outputs.
MLX_API std::pair<Arrays, Arrays> vmap_trace(const Function& fun, const Arrays& inputs,
                                             const std::vector<int>& in_axes);
/// The outputs for `inputs`, from what `vmap_trace` returned for inputs of these shapes; the batch
/// axis of each is where `out_axes` says (-1: none).
MLX_API Arrays vmap_replace(const Arrays& inputs, const Arrays& traced_inputs,
                            const Arrays& traced_outputs, const std::vector<int>& in_axes,
                            const std::vector<int>& out_axes);
}  // namespace detail

}  // namespace mlx::core
