// Random numbers by rejection: distributions whose numbers take an unknown count of random words.
#pragma once

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// Distributions with one parameter, or two.
enum class Draw : uint8_t {
  log_gamma,  ///< the logarithm of a gamma variate of shape a
  poisson,    ///< of rate a; -1 where it is negative or NaN
  binomial,   ///< of a trials with probability b; -1 for parameters out of range
  von_mises,  ///< around 0 with concentration a, in [-pi, pi]
};
struct DrawAttrs {
  Draw kind;
  template <class F>
  void each(F&& f) {
    f("kind", kind);
  }
};

/// Inputs: keys of shape (.., 2), and float64 parameters of one shape that starts with the shape of
/// the keys: each key draws its part. An element depends on its key and its index in the part.
extern const OpDef op_draw;

/// One number for each element of the parameters.
array draw(Draw kind, const array& key, const Arrays& parameters, Stream s);

namespace rules {
Arrays draw_vjp(const RuleArgs& r);
Arrays draw_jvp(const RuleArgs& r);
Batched draw_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s);
}  // namespace rules

}  // namespace mlx::core
