// Sets and polynomials of NumPy.
#include "mlx/ops/sets.h"

#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/polynomials.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM_TO "stream: StreamOrDevice = None) -> "

void bind_set_functions(nb::module_& m) {
#define MLX_SET(NAME)                                            \
  def(m, #NAME "(ar1: array, ar2: array, *, " STREAM_TO "array", \
      [](Operand x, Operand y, const StreamOrDevice& s) {        \
        BothOperands o(#NAME, x, y);                             \
        return core::NAME(*o.a, *o.b, s);                        \
      });
  MLX_SET(union1d)
  MLX_SET(setdiff1d)
  MLX_SET(setxor1d)
#undef MLX_SET
  def(m,
      "intersect1d(ar1: array, ar2: array, return_indices: bool = False, *, " STREAM_TO
      "array | tuple[array, array, array]",
      [](Operand x, Operand y, bool indices, const StreamOrDevice& s) {
        BothOperands o("intersect1d", x, y);
        if (indices) return tuple_of(core::intersect1d_indices(*o.a, *o.b, s));
        return nb::steal(wrap(core::intersect1d(*o.a, *o.b, s)));
      });
  def(m, "trim_zeros(filt: array, trim: str = 'fb', *, " STREAM_TO "array",
      [](const array& a, const std::string& trim, const StreamOrDevice& s) {
        for (const char c : trim)
          if (c != 'f' && c != 'b')
            fail<ValueError>("trim_zeros", "trim '", trim, "'; 'f', 'b' and 'fb' are accepted");
        return core::trim_zeros(a, trim.find('f') != trim.npos, trim.find('b') != trim.npos, s);
      });
}

}  // namespace

void bind_sets(nb::module_& m) {
  bind_set_functions(m);
#define MLX_PAIRED(NAME, A, B)                                                         \
  def(m, #NAME "(" A ": scalar | array, " B ": scalar | array, *, " STREAM_TO "array", \
      [](Operand x, Operand y, const StreamOrDevice& s) {                              \
        BothOperands o(#NAME, x, y);                                                   \
        return core::NAME(core::atleast_1d(*o.a, s), core::atleast_1d(*o.b, s), s);    \
      });
  MLX_PAIRED(polyadd, "a1", "a2")
  MLX_PAIRED(polysub, "a1", "a2")
  MLX_PAIRED(polymul, "a1", "a2")
#undef MLX_PAIRED
  def(m, "polydiv(u: array, v: array, *, " STREAM_TO "tuple[array, array]",
      [](const array& u, const array& v, const StreamOrDevice& s) {
        auto [quotient, rest] = core::polydiv(u, v, s);
        return tuple_of({quotient, rest});
      });
  def(m, "polyder(p: array, m: int = 1, *, " STREAM_TO "array",
      [](const array& p, int order, const StreamOrDevice& s) {
        return core::polyder(p, order, s);
      });
  def(m, "polyint(p: array, m: int = 1, k: scalar | array = 0, *, " STREAM_TO "array",
      [](const array& p, int order, const array& k, const StreamOrDevice& s) {
        return core::polyint(p, order, k, s);
      });
  def(m, "poly(seq_of_zeros: array, *, " STREAM_TO "array",
      [](const array& given, const StreamOrDevice& s) { return core::poly(given, s); });
  def(m, "roots(p: array, *, " STREAM_TO "array",
      [](const array& p, const StreamOrDevice& s) { return core::roots(p, s); });
}

}  // namespace mlx::python
