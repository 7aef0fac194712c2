// Special functions of several numbers whose sums and continued fractions have lengths that depend
// on the arguments.
#pragma once

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

enum class Series : uint8_t {
  gammainc,         ///< (a, x): the regularized lower incomplete gamma function
  gammaincc,        ///< (a, x): its complement
  betainc,          ///< (a, b, x): the regularized incomplete beta function
  log_gamma_slope,  ///< (a, log x): d log x / da at a fixed value of gammainc(a, x)
};
struct SeriesAttrs {
  Series kind;
  template <class F>
  void each(F&& f) {
    f("kind", kind);
  }
};

/// Inputs: float64 arrays of one shape, which is the shape of the result.
extern const OpDef op_series;

array series(Series kind, const Arrays& arguments, Stream s);

namespace special {
/// Incomplete gamma functions for a > 0 and x >= 0, NaN elsewhere, except gammainc(0, x) = 1 for
/// x > 0. The second derivative with respect to `a` raises.
MLX_API array gammainc(const array& a, const array& x, StreamOrDevice s = {});
MLX_API array gammaincc(const array& a, const array& x, StreamOrDevice s = {});
/// The incomplete beta function for a, b > 0 and x in [0, 1], NaN elsewhere. The derivatives with
/// respect to `a` and `b` raise.
MLX_API array betainc(const array& a, const array& b, const array& x, StreamOrDevice s = {});
/// The derivative of a gamma variate x with respect to its shape a.
MLX_API array random_gamma_grad(const array& a, const array& x, StreamOrDevice s = {});
}  // namespace special

namespace rules {
Arrays series_vjp(const RuleArgs& r);
Arrays series_jvp(const RuleArgs& r);
Batched series_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s);
}  // namespace rules

}  // namespace mlx::core
