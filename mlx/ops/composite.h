// Rules of ops that have a kernel of their own and a formula in elementary ops: derivatives of any
// order and batching follow from the formula.
#pragma once

#include <functional>

#include "mlx/ops/rules.h"

namespace mlx::core::rules {

/// The results of an op in elementary ops.
using Formula = std::function<Arrays(const Arrays&)>;

/// Cotangents of the requested inputs with an inexact dtype.
Arrays formula_vjp(const Formula& f, const RuleArgs& args);
/// Tangents of the outputs, given those of some inputs.
Arrays formula_jvp(const Formula& f, const RuleArgs& args);
/// The formula mapped over the given axes; results have the batch axis first.
Batched formula_vmap(const Formula& f, const Arrays& inputs, const std::vector<int>& axes);

}  // namespace mlx::core::rules
