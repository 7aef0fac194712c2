// softmax and logsumexp over one axis, several, or all. Both subtract the maximum first for
// stability. 16-bit floats are computed in float32, integers give float32.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// exp(a) / sum(exp(a)). `precise` has no effect: softmax is always precise.
MLX_API array softmax(const array& a, const std::vector<int>& axes, bool precise = false,
                      StreamOrDevice s = {});
MLX_API array softmax(const array& a, bool precise = false, StreamOrDevice s = {});
MLX_API array softmax(const array& a, int axis, bool precise = false, StreamOrDevice s = {});

/// log(sum(exp(a))). Throws ValueError for an empty array.
MLX_API array logsumexp(const array& a, const std::vector<int>& axes, bool keepdims = false,
                        StreamOrDevice s = {});
MLX_API array logsumexp(const array& a, bool keepdims, StreamOrDevice s = {});
MLX_API array logsumexp(const array& a, StreamOrDevice s = {});
MLX_API array logsumexp(const array& a, int axis, bool keepdims = false, StreamOrDevice s = {});

struct SoftmaxAttrs {
  int axis;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
  }
};

/// op_softmax works along any one axis; op_logsumexp reduces the last axis.
extern const OpDef op_softmax, op_logsumexp;

namespace rules {
Arrays softmax_vjp(const RuleArgs& r);
Arrays softmax_jvp(const RuleArgs& r);
Arrays logsumexp_vjp(const RuleArgs& r);
Arrays logsumexp_jvp(const RuleArgs& r);
Batched softmax_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched logsumexp_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
