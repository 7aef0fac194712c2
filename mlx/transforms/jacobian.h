// Matrices of derivatives, one for each pair of an output and an argument.
#pragma once

#include <vector>

#include "mlx/transforms/transforms.h"

namespace mlx::core {

/// The outputs of `fun`, and for each of them the Jacobians with respect to the primals, whose
/// shapes are those of the output and of the primal joined. Forward mode maps a tangent for each
/// element of the primals, reverse mode a cotangent for each element of the outputs. Throws
/// ValueError for primals, and in reverse mode outputs, that are not of real floating numbers.
struct Jacobians {
  Arrays outputs;
  std::vector<Arrays> matrices;
};
MLX_API Jacobians jacfwd(const Function& fun, const Arrays& primals);
MLX_API Jacobians jacrev(const Function& fun, const Arrays& primals);

}  // namespace mlx::core
