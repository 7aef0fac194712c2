// Functions of NumPy on sampled curves and polynomials.
#include "mlx/ops/curves.h"

#include <numeric>

#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/linalg_functions.h"
#include "mlx/ops/standard.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
using OptionalArray = std::optional<array>;
#define STREAM "stream: StreamOrDevice = None) -> array"

void bind_spaces(nb::module_& m) {
  def(m,
      "logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, "
      "base: float = 10.0, dtype: Dtype | None = float32, *, " STREAM,
      [](double start, double stop, int n, bool endpoint, double base, std::optional<Dtype> t,
         const StreamOrDevice& s) {
        return core::logspace(start, stop, n, endpoint, base, t.value_or(core::float32), s);
      });
  def(m,
      "geomspace(start: float, stop: float, num: int = 50, endpoint: bool = True, "
      "dtype: Dtype | None = float32, *, " STREAM,
      [](double start, double stop, int n, bool endpoint, std::optional<Dtype> t,
         const StreamOrDevice& s) {
        return core::geomspace(start, stop, n, endpoint, t.value_or(core::float32), s);
      });
}

void bind_samples(nb::module_& m) {
  def(m,
      "interp(x: scalar | array, xp: array, fp: array, left: scalar | array | None = None, "
      "right: scalar | array | None = None, *, " STREAM,
      [](Operand x, Operand xp, const array& fp, nb::handle left, nb::handle right,
         const StreamOrDevice& s) {
        BothOperands o("interp", x, xp);
        auto beyond = [&fp](nb::handle v) {
          return v.is_none() ? OptionalArray()
                             : OptionalArray(convert_operand("interp", fp, Operand{v.ptr()}));
        };
        return core::interp(*o.a, *o.b, fp, beyond(left), beyond(right), s);
      });
  def(m,
      "gradient(f: array, *varargs: scalar | array, axis: int | Sequence[int] | None = None, "
      "stream: StreamOrDevice = None) -> array | list[array]",
      [](const array& f, Star spacings, Axes& axes, const StreamOrDevice& s) -> nb::object {
        Arrays given;
        for (nb::handle spacing : spacings.items)
          given.push_back(convert_operand("gradient", f, Operand{spacing.ptr()}));
        std::vector<int> over(f.ndim());
        std::iota(over.begin(), over.end(), 0);
        if (auto* one = std::get_if<int>(&axes)) over = {*one};
        if (auto* several = std::get_if<std::vector<int>>(&axes)) over = *several;
        if (given.size() > 1 && given.size() != over.size())
          fail<ValueError>("gradient", given.size(), " spacings for ", over.size(),
                           " axes; one, or one for each axis is accepted");
        const array unit = core::constant(1, core::bool_);
        nb::list out;
        for (size_t i = 0; i < over.size(); ++i) {
          const array& spacing = given.empty() ? unit : given[given.size() == 1 ? 0 : i];
          out.append(nb::steal(wrap(core::gradient(f, spacing, over[i], s))));
        }
        return over.size() == 1 ? nb::object(out[0]) : nb::object(out);
      });
  def(m, "trapezoid(y: array, x: array | None = None, dx: float = 1.0, axis: int = -1, *, " STREAM,
      [](const array& y, const OptionalArray& x, double dx, int axis, const StreamOrDevice& s) {
        return core::trapezoid(y, x, dx, axis, s);
      });
  def(m,
      "unwrap(p: array, discont: float | None = None, axis: int = -1, *, "
      "period: float = 6.283185307179586, " STREAM,
      [](const array& p, std::optional<double> discont, int axis, double period,
         const StreamOrDevice& s) { return core::unwrap(p, discont, axis, period, s); });
  def(m, "digitize(x: array, bins: array, right: bool = False, *, " STREAM,
      [](const array& x, const array& bins, bool right, const StreamOrDevice& s) {
        return core::digitize(x, bins, right, s);
      });
}

void bind_polynomials(nb::module_& m) {
  def(m, "polyval(p: array, x: scalar | array, *, " STREAM,
      [](Operand p, Operand x, const StreamOrDevice& s) {
        BothOperands o("polyval", p, x);
        return core::polyval(*o.a, *o.b, s);
      });
  def(m, "polyfit(x: array, y: array, deg: int, *, w: array | None = None, " STREAM,
      [](const array& x, const array& y, int degree, const OptionalArray& w,
         const StreamOrDevice& s) { return core::polyfit(x, y, degree, w, s); });
  def(m, "vander(x: array, N: int | None = None, increasing: bool = False, *, " STREAM,
      [](const array& x, std::optional<int64_t> n, bool increasing, const StreamOrDevice& s) {
        return core::vander(x, n, increasing, s);
      });
}

void bind_dots(nb::module_& m) {
#define MLX_DOT(NAME, FN)                                              \
  def(m, #NAME "(a: scalar | array, b: scalar | array, /, *, " STREAM, \
      [](Operand x, Operand y, const StreamOrDevice& s) {              \
        BothOperands o(#NAME, x, y);                                   \
        return FN(*o.a, *o.b, s);                                      \
      });
  MLX_DOT(dot, core::dot)
  MLX_DOT(vdot, core::vdot)
#undef MLX_DOT
  def(m, "cross(a: array, b: array, axis: int = -1, *, " STREAM,
      [](const array& a, const array& b, int axis, const StreamOrDevice& s) {
        return core::linalg::cross(a, b, axis, s);
      });
}

}  // namespace

void bind_curves(nb::module_& m) {
  bind_spaces(m);
  bind_samples(m);
  bind_polynomials(m);
  bind_dots(m);
}

}  // namespace mlx::python
