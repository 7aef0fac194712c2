// Derivatives and batching of incomplete gamma and beta functions.
#include "mlx/ops/series.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/special.h"

namespace mlx::core::rules {

namespace {

array one() { return constant(1, float64); }

/// x^a exp(-x) / gamma(a), the density times x. The logarithm of x is given.
array gamma_weight(const array& a, const array& log_x, Stream s) {
  const array exponent = subtract(multiply(a, log_x, s), exp(log_x, s), s);
  return exp(subtract(exponent, lgamma(a, s), s), s);
}

/// The partial derivative with respect to argument `i`.
array partial(const RuleArgs& r, size_t i) {
  const Stream s = r.stream;
  const array &a = r.inputs[0], &b = r.inputs[1];
  switch (attrs_as<SeriesAttrs>(r.attrs).kind) {
    case Series::gammainc:
    case Series::gammaincc: {
      const bool upper = attrs_as<SeriesAttrs>(r.attrs).kind == Series::gammaincc;
      const array none = equal(b, constant(0, float64), s);
      const array log_x = log(where(none, one(), b, s), s);
      array d;
      if (i == 0) {
        const array slope = series(Series::log_gamma_slope, {a, log_x}, s);
        d = negative(multiply(gamma_weight(a, log_x, s), slope, s), s);
        d = where(none, constant(0, float64), d, s);
      } else {  // x^(a - 1), which is 0, 1 or infinite at 0
        const array exponent = multiply(subtract(a, one(), s), log_x, s);
        const array inside = exp(subtract(subtract(exponent, b, s), lgamma(a, s), s), s);
        // Its base is 1 elsewhere: the power of a large b would have an infinite slope.
        const array at_zero = power(where(none, b, one(), s), subtract(a, one(), s), s);
        d = where(none, at_zero, inside, s);
      }
      return upper ? negative(d, s) : d;
    }
    case Series::betainc: {
      if (i < 2)
        fail("betainc", "a derivative with respect to argument ", i,
             "; the derivative with respect to x, argument 2, is accepted");
      const array& x = r.inputs[2];
      const array size = add(special::xlogy(subtract(a, one(), s), x, s),
                             special::xlog1py(subtract(b, one(), s), negative(x, s), s), s);
      return exp(subtract(size, special::betaln(a, b, s), s), s);
    }
    case Series::log_gamma_slope:
      break;
  }
  if (i == 0)
    fail("gammainc",
         "a second derivative with respect to a, or the derivative of a derivative of "
         "gamma variates; first derivatives are accepted");
  // b is log x: the derivative of -P_a / w, of which w = x^a exp(-x) / gamma(a).
  const array first = subtract(b, digamma(a, s), s);
  const array rest = multiply(r.outputs[0], subtract(a, exp(b, s), s), s);
  return negative(add(first, rest, s), s);
}

}  // namespace

Arrays series_vjp(const RuleArgs& r) {
  Arrays out(r.inputs.size());
  if (!r.grads[0]) return out;
  for (size_t i = 0; i < r.inputs.size(); ++i)
    if (r.requested[i]) out[i] = multiply(r.grads[0], partial(r, i), r.stream);
  return out;
}

Arrays series_jvp(const RuleArgs& r) {
  array sum;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    if (!r.grads[i]) continue;
    const array part = multiply(r.grads[i], partial(r, i), r.stream);
    sum = sum ? add(sum, part, r.stream) : part;
  }
  return {sum};
}

Batched series_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  const int64_t n = batch_size(in, axes);
  Arrays mapped;
  for (size_t i = 0; i < in.size(); ++i) mapped.push_back(with_batch(in[i], axes[i], n, s));
  return {op_series.build(mapped, attrs, s), {0}};
}

}  // namespace mlx::core::rules
