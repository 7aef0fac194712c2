// Function transformations: derivatives. Each takes a function of arrays and gives another one, which
// can be transformed again.
#pragma once

#include <functional>
#include <utility>

#include "mlx/runtime/eval.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

using ValueAndGradFn = std::function<std::pair<Arrays, Arrays>(const Arrays&)>;
using SimpleValueAndGradFn = std::function<std::pair<array, Arrays>(const Arrays&)>;
using UnaryFunction = std::function<array(const array&)>;
using ScalarFunction = std::function<array(const Arrays&)>;

/// Outputs of `fun` and the vector-Jacobian products of `cotangents`, one per primal (zeros where the
/// outputs do not depend on it). Throws ValueError where counts or shapes of cotangents and outputs
/// differ, and for an op without a derivative.
std::pair<Arrays, Arrays> vjp(const Function& fun, const Arrays& primals, const Arrays& cotangents);
std::pair<array, array> vjp(const UnaryFunction& fun, const array& primal, const array& cotangent);

/// Outputs of `fun` and the Jacobian-vector products of `tangents`, one per output.
std::pair<Arrays, Arrays> jvp(const Function& fun, const Arrays& primals, const Arrays& tangents);
std::pair<array, array> jvp(const UnaryFunction& fun, const array& primal, const array& tangent);

/// A function that gives the outputs of `fun`, of which the first is a scalar, and that scalar's
/// gradients with respect to the arguments `argnums` (negative ones count from the end).
ValueAndGradFn value_and_grad(const Function& fun, const std::vector<int>& argnums);
ValueAndGradFn value_and_grad(const Function& fun, int argnum = 0);
SimpleValueAndGradFn value_and_grad(const ScalarFunction& fun, const std::vector<int>& argnums);
SimpleValueAndGradFn value_and_grad(const ScalarFunction& fun, int argnum = 0);
std::function<std::pair<array, array>(const array&)> value_and_grad(const UnaryFunction& fun);

Function grad(const ScalarFunction& fun, const std::vector<int>& argnums);
Function grad(const ScalarFunction& fun, int argnum = 0);
UnaryFunction grad(const UnaryFunction& fun);

}  // namespace mlx::core
