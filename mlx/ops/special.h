// Special functions composed of elementwise ops, with the names and definitions of scipy.special.
// Real dtypes; bool and integers become float32, 16-bit floats are computed in float32.
#pragma once

#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::special {

/// Hurwitz's zeta function, the sum of (q + k)^-s over k = 0, 1, ..: s > 1, q > 0. Infinite for s =
/// 1 and q = 0, NaN for smaller ones.
MLX_API array zeta(const array& s, const array& q, StreamOrDevice stream = {});
/// The derivative of order n of digamma. Negative arguments are taken for n up to 1.
MLX_API array polygamma(int n, const array& a, StreamOrDevice s = {});
/// The gamma function; NaN at negative integers.
MLX_API array gamma(const array& a, StreamOrDevice s = {});
/// gamma(a) gamma(b) / gamma(a + b), for a, b > 0, and its logarithm.
MLX_API array beta(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array betaln(const array& a, const array& b, StreamOrDevice s = {});
/// log |Gamma_d(a)|, of the gamma function of d by d matrices; a > (d - 1) / 2.
MLX_API array multigammaln(const array& a, int d, StreamOrDevice s = {});

/// The normal distribution function and its logarithm.
MLX_API array ndtr(const array& a, StreamOrDevice s = {});
MLX_API array log_ndtr(const array& a, StreamOrDevice s = {});
/// exp(a^2) erfc(a), which does not underflow.
MLX_API array erfcx(const array& a, StreamOrDevice s = {});
/// The inverse of ndtr, for numbers between 0 and 1.
MLX_API array ndtri(const array& a, StreamOrDevice s = {});
/// (exp(a) - 1) / a, 1 at 0.
MLX_API array exprel(const array& a, StreamOrDevice s = {});
/// Modified Bessel functions of the first kind and order 0 or 1; multiplied by exp(-|a|) if
/// `scaled`.
MLX_API array bessel_i(int order, bool scaled, const array& a, StreamOrDevice s = {});
/// gamma(n + 1), 0 for negative n; and the number of subsets of k of n things, 0 unless 0 <= k <=
/// n.
MLX_API array factorial(const array& n, StreamOrDevice s = {});
MLX_API array comb(const array& n, const array& k, StreamOrDevice s = {});

/// log(a / (1 - a)), the inverse of sigmoid.
MLX_API array logit(const array& a, StreamOrDevice s = {});
/// log(sigmoid(a)).
MLX_API array log_expit(const array& a, StreamOrDevice s = {});

/// x log y and x log(1 + y); 0 where x is 0 and y is no NaN.
MLX_API array xlogy(const array& x, const array& y, StreamOrDevice s = {});
MLX_API array xlog1py(const array& x, const array& y, StreamOrDevice s = {});
/// -a log a, 0 at 0, and -infinity below.
MLX_API array entr(const array& a, StreamOrDevice s = {});
/// x log(x / y), and x log(x / y) - x + y; infinite where a number is negative, or y alone is 0.
MLX_API array rel_entr(const array& x, const array& y, StreamOrDevice s = {});
MLX_API array kl_div(const array& x, const array& y, StreamOrDevice s = {});
/// sin(pi a) / (pi a), 1 at 0.
MLX_API array sinc(const array& a, StreamOrDevice s = {});
/// softmax(a) as a logarithm: a - logsumexp(a) along axes.
MLX_API array log_softmax(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});

}  // namespace mlx::core::special
