// Matrix products and their compositions. Operands are promoted to one dtype; products of integers
// wrap, those of bool are "or"s of "and"s, 16-bit floats are summed in float32.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// a[.., M, K] · b[.., K, N], leading axes broadcast. A vector on the left is a row, on the right a
/// column; its axis is dropped from the result.
MLX_API array matmul(const array& a, const array& b, StreamOrDevice s = {});
/// beta * c + alpha * (a · b) for inexact dtypes; c broadcasts to the product.
MLX_API array addmm(array c, array a, array b, double alpha = 1.0, double beta = 1.0,
                    StreamOrDevice s = {});
/// Sums of products over the last axes; an ordinary product if one operand is a scalar.
MLX_API array inner(const array& a, const array& b, StreamOrDevice s = {});
/// a[i] * b[j] of the flattened operands.
MLX_API array outer(const array& a, const array& b, StreamOrDevice s = {});
/// Contraction of the last `axis` axes of `a` with the first ones of `b`.
MLX_API array tensordot(const array& a, const array& b, const int axis = 2, StreamOrDevice s = {});
/// Contraction of axes_a[i] with axes_b[i]; the result has the other axes of `a`, then those of
/// `b`.
MLX_API array tensordot(const array& a, const array& b, const std::vector<int>& axes_a,
                        const std::vector<int>& axes_b, StreamOrDevice s = {});
/// Sum over `axis` of conj(a) * b; the other axes broadcast.
MLX_API array vecdot(const array& a, const array& b, int axis = -1, StreamOrDevice s = {});

/// matmul of a[lhs_indices[i]] and b[rhs_indices[i]]; the indices refer to the matrices of the
/// flattened leading axes and default to all matrices in order. The indices broadcast.
MLX_API array gather_mm(array a, array b, std::optional<array> lhs_indices = {},
                        std::optional<array> rhs_indices = {}, bool sorted_indices = false,
                        StreamOrDevice s = {});
/// matmul in which square blocks of the operands and of the result are scaled (or, by bool masks,
/// zeroed): the masks have one element per block.
MLX_API array block_masked_mm(array a, array b, int block_size, std::optional<array> mask_out = {},
                              std::optional<array> mask_lhs = {},
                              std::optional<array> mask_rhs = {}, StreamOrDevice s = {});

struct AddmmAttrs {
  double alpha, beta;
  template <class F>
  void each(F&& f) {
    f("alpha", alpha);
    f("beta", beta);
  }
};

extern const OpDef op_matmul, op_addmm;

namespace rules {
Arrays matmul_vjp(const RuleArgs&);
Arrays addmm_vjp(const RuleArgs&);
Arrays addmm_jvp(const RuleArgs&);
Batched matmul_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched addmm_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
