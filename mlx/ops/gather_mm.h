// Products of matrices selected by index arrays, and products over ranges of the inner axis.
#pragma once

#include "mlx/core/api.h"
#include "mlx/ops/matmul.h"

namespace mlx::core {

/// out[s] = a[:, start:end] · b[start:end, :] for each row (start, end) of `segments`, of shape
/// (.., 2); a range whose end is before its start gives zeros. Throws IndexError, when evaluated,
/// for a range outside the inner axis.
MLX_API array segmented_mm(array a, array b, array segments, StreamOrDevice s = {});

/// The matrices of `x` as a stack of rank 3.
array as_stack(const array& x, Stream s);
/// The indices of the matrices of `x` in that stack, in the shape of its leading axes.
array own_positions(const array& x, Stream s);

/// Inputs: stacks a and b of rank 3, and index arrays into them, of one shape and any integer
/// dtype.
extern const OpDef op_gather_mm;
/// Inputs: matrices a and b, segments.
extern const OpDef op_segmented_mm;

namespace rules {
Arrays gather_mm_vjp(const RuleArgs&);
Arrays segmented_mm_vjp(const RuleArgs&);
Batched gather_mm_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched segmented_mm_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
