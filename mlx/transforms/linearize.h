// Derivatives at a point as functions of tangents or cotangents, and shapes without values.
#pragma once

#include "mlx/transforms/transforms.h"

namespace mlx::core {

/// The outputs of a function at a point, and a linear function there.
struct Linearized {
  Arrays outputs;
  Function map;
};

/// The outputs of `fun`, and the function from tangents of the primals to those of the outputs.
/// `fun` runs once: the linear function is a copy of the graph that its derivative made, and what
/// does not depend on tangents is computed once. Throws ValueError, and so does the function for
/// tangents of other shapes.
MLX_API Linearized linearize(const Function& fun, const Arrays& primals);

/// The outputs of `fun`, and the function from cotangents of the outputs to those of the primals.
/// As `linearize`, with one more call of `fun` for the shapes of the outputs.
MLX_API Linearized vjp_function(const Function& fun, const Arrays& primals);

/// Arrays with the dtypes and shapes of the outputs of `fun` for inputs like `inputs`, whose values
/// are not read. The results have no values.
MLX_API Arrays eval_shape(const Function& fun, const Arrays& inputs);

}  // namespace mlx::core
