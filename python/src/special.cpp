// Special functions: the submodule mlx.core.special, with the names of scipy.special.
#include "mlx/ops/special.h"

#include <numeric>

#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/series.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
namespace special = mlx::core::special;
#define STREAM "stream: StreamOrDevice = None) -> array"

#define MLX_UNARY(NAME, FN)                \
  def(m, #NAME "(a: array, /, *, " STREAM, \
      [](const array& a, const StreamOrDevice& s) { return FN(a, s); });
#define MLX_BINARY(NAME, FIRST, SECOND)                                                 \
  def(m, #NAME "(" FIRST ": scalar | array, " SECOND ": scalar | array, /, *, " STREAM, \
      [](Operand x, Operand y, const StreamOrDevice& s) {                               \
        BothOperands o(#NAME, x, y);                                                    \
        return special::NAME(*o.a, *o.b, s);                                            \
      });

void bind_gamma(nb::module_& m) {
  MLX_UNARY(gammaln, core::lgamma)
  MLX_UNARY(digamma, core::digamma)
  MLX_UNARY(gamma, special::gamma)
  MLX_BINARY(beta, "a", "b")
  MLX_BINARY(betaln, "a", "b")
  MLX_BINARY(zeta, "x", "q")
  MLX_UNARY(factorial, special::factorial)
  MLX_BINARY(comb, "N", "k")
  def(m, "polygamma(n: int, a: array, /, *, " STREAM,
      [](int n, const array& a, const StreamOrDevice& s) { return special::polygamma(n, a, s); });
  def(m, "multigammaln(a: array, d: int, /, *, " STREAM,
      [](const array& a, int d, const StreamOrDevice& s) {
        return special::multigammaln(a, d, s);
      });
  alias(m, "lgamma", "gammaln");
  alias(m, "psi", "digamma");
}

void bind_errors_and_normals(nb::module_& m) {
  MLX_UNARY(erf, core::erf)
  MLX_UNARY(erfc, core::erfc)
  MLX_UNARY(erfinv, core::erfinv)
  MLX_UNARY(ndtr, special::ndtr)
  MLX_UNARY(log_ndtr, special::log_ndtr)
  MLX_UNARY(ndtri, special::ndtri)
  MLX_UNARY(erfcx, special::erfcx)
}

/// Functions whose sums have a length that depends on the arguments.
void bind_incomplete(nb::module_& m, nb::module_& parent) {
  MLX_BINARY(gammainc, "a", "x")
  MLX_BINARY(gammaincc, "a", "x")
  def(m, "betainc(a: array, b: array, x: array, /, *, " STREAM,
      [](const array& a, const array& b, const array& x, const StreamOrDevice& s) {
        return special::betainc(a, b, x, s);
      });
  def(parent, "random_gamma_grad(a: scalar | array, x: scalar | array, /, *, " STREAM,
      [](Operand x, Operand y, const StreamOrDevice& s) {
        BothOperands o("random_gamma_grad", x, y);
        return special::random_gamma_grad(*o.a, *o.b, s);
      });
}

void bind_bessel(nb::module_& m) {
#define MLX_BESSEL(NAME, ORDER, SCALED)                                                  \
  def(m, #NAME "(a: array, /, *, " STREAM, [](const array& a, const StreamOrDevice& s) { \
    return special::bessel_i(ORDER, SCALED, a, s);                                       \
  });
  MLX_BESSEL(i0, 0, false)
  MLX_BESSEL(i0e, 0, true)
  MLX_BESSEL(i1, 1, false)
  MLX_BESSEL(i1e, 1, true)
#undef MLX_BESSEL
}

void bind_entropies(nb::module_& m){MLX_UNARY(entr, special::entr) MLX_BINARY(kl_div, "x", "y")
                                        MLX_BINARY(rel_entr, "x", "y") MLX_BINARY(xlogy, "x", "y")
                                            MLX_BINARY(xlog1py, "x", "y")}

/// Axes as a list: all of them for None.
std::vector<int> axes_of(const array& a, const Axes& axes) {
  if (auto* one = std::get_if<int>(&axes)) return {*one};
  if (auto* several = std::get_if<std::vector<int>>(&axes)) return *several;
  std::vector<int> all(a.ndim());
  std::iota(all.begin(), all.end(), 0);
  return all;
}
#undef MLX_BINARY

void bind_logistic(nb::module_& m) {
  MLX_UNARY(expit, core::sigmoid)
  MLX_UNARY(log_expit, special::log_expit)
  MLX_UNARY(logit, special::logit)
#define MLX_SOFT(NAME, ...)                                                         \
  def(m, #NAME "(a: array, /, axis: int | Sequence[int] | None = None, *, " STREAM, \
      [](const array& a, Axes& axes, const StreamOrDevice& s) { return __VA_ARGS__; });
  MLX_SOFT(log_softmax, special::log_softmax(a, axes_of(a, axes), s))
  MLX_SOFT(softmax, core::softmax(a, axes_of(a, axes), false, s))
#undef MLX_SOFT
  def(m,
      "logsumexp(a: array, /, axis: int | Sequence[int] | None = None, keepdims: bool = False, "
      "*, " STREAM,
      [](const array& a, Axes& axes, bool keepdims, const StreamOrDevice& s) {
        return core::logsumexp(a, axes_of(a, axes), keepdims, s);
      });
}

}  // namespace

void bind_special(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("special", "Special functions, as in scipy.special.");
  bind_gamma(m);
  bind_errors_and_normals(m);
  bind_entropies(m);
  bind_logistic(m);
  bind_incomplete(m, parent);
  bind_bessel(m);
  MLX_UNARY(exprel, special::exprel)
  MLX_UNARY(cbrt, core::cbrt)
  MLX_UNARY(sinc, special::sinc)
  def(parent, "sinc(a: array, /, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return special::sinc(a, s); });
}
#undef MLX_UNARY

}  // namespace mlx::python
