// Statistics of NumPy: functions that leave out NaN, quantiles, weighted means, covariances.
#include "mlx/ops/statistics.h"

#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
using OptionalArray = std::optional<array>;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define OVER_AXES "(a: array, /, axis: None | int | Sequence[int] = None, "

void bind_without_nan(nb::module_& m) {
#define MLX_REDUCE(NAME)                                                       \
  def(m, #NAME OVER_AXES "keepdims: bool = False, *, " STREAM,                 \
      [](const array& a, Axes& axes, bool keepdims, const StreamOrDevice& s) { \
        return core::NAME(a, axes_of(axes), keepdims, s);                      \
      });
  MLX_REDUCE(nansum)
  MLX_REDUCE(nanprod)
  MLX_REDUCE(nanmax)
  MLX_REDUCE(nanmin)
  MLX_REDUCE(nanmean)
  MLX_REDUCE(nanmedian)
  MLX_REDUCE(ptp)
#undef MLX_REDUCE
#define MLX_SPREAD(NAME)                                                                    \
  def(m, #NAME OVER_AXES "keepdims: bool = False, ddof: float = 0, *, " STREAM,             \
      [](const array& a, Axes& axes, bool keepdims, double ddof, const StreamOrDevice& s) { \
        return core::NAME(a, axes_of(axes), keepdims, ddof, s);                             \
      });
  MLX_SPREAD(nanvar)
  MLX_SPREAD(nanstd)
#undef MLX_SPREAD
#define MLX_POSITION(NAME)                                                                  \
  def(m, #NAME "(a: array, /, axis: None | int = None, keepdims: bool = False, *, " STREAM, \
      [](const array& a, std::optional<int> axis, bool keepdims, const StreamOrDevice& s) { \
        return core::NAME(a, axis, keepdims, s);                                            \
      });
  MLX_POSITION(nanargmax)
  MLX_POSITION(nanargmin)
#undef MLX_POSITION
#define MLX_SCAN(NAME)                                                       \
  def(m, #NAME "(a: array, /, axis: None | int = None, *, " STREAM,          \
      [](const array& a, std::optional<int> axis, const StreamOrDevice& s) { \
        return core::NAME(a, axis, s);                                       \
      });
  MLX_SCAN(nancumsum)
  MLX_SCAN(nancumprod)
#undef MLX_SCAN
}

/// Probabilities as float64: a number, a sequence of numbers, or an array.
array probabilities(const char* op, nb::handle q, double whole) {
  const array given = is_array(q.ptr()) ? checked(q.ptr()) : to_array(q.ptr(), core::float64);
  if (!is_array(q.ptr()))
    for (const char* p = host_data(given); p < host_data(given) + given.nbytes(); p += 8) {
      double v;
      std::memcpy(&v, p, sizeof v);
      if (!(v >= 0 && v <= whole))
        fail<ValueError>(op, "q=", v, "; numbers from 0 to ", whole, " are accepted");
    }
  return whole == 1 ? given
                    : core::divide(core::astype(given, core::float64),
                                   core::constant(whole, core::float64));
}

/// The elements: a number takes the dtype of an array of probabilities.
array elements(const char* op, Operand a, nb::handle q) {
  return is_array(q.ptr()) ? convert_operand(op, checked(q.ptr()), a) : to_array(a.object);
}

void bind_quantiles(nb::module_& m) {
#define MLX_QUANTILE(NAME, WHOLE, SKIP)                                                           \
  def(m,                                                                                          \
      #NAME                                                                                       \
      "(a: scalar | array, q: float | Sequence[float] | array, axis: None | int | Sequence[int] " \
      "= None, "                                                                                  \
      "*, method: Literal['linear', 'lower', 'higher', 'nearest', 'midpoint'] = 'linear', "       \
      "keepdims: bool = False, " STREAM,                                                          \
      [](Operand given, nb::handle q, Axes& axes, std::string& method, bool keepdims,             \
         const StreamOrDevice& s) {                                                               \
        const array a = elements(#NAME, given, q);                                                \
        return core::quantile(a, probabilities(#NAME, q, WHOLE), axes_of(axes), method, keepdims, \
                              SKIP, s);                                                           \
      });
  MLX_QUANTILE(quantile, 1, false)
  MLX_QUANTILE(percentile, 100, false)
  MLX_QUANTILE(nanquantile, 1, true)
  MLX_QUANTILE(nanpercentile, 100, true)
#undef MLX_QUANTILE
}

void bind_averages(nb::module_& m) {
  def(m,
      "average(a: array, axis: None | int | Sequence[int] = None, weights: array | None = None, "
      "returned: bool = False, *, keepdims: bool = False, stream: StreamOrDevice = None) -> "
      "array | tuple[array, array]",
      [](const array& a, Axes& axes, const OptionalArray& weights, bool returned, bool keepdims,
         const StreamOrDevice& s) -> nb::object {
        auto [y, total] = core::average(a, axes_of(axes), weights, keepdims, s);
        return returned ? tuple_of({y, total}) : nb::steal(wrap(y));
      });
  def(m,
      "cov(m: array, y: array | None = None, rowvar: bool = True, bias: bool = False, "
      "ddof: float | None = None, *, " STREAM,
      [](const array& x, const OptionalArray& y, bool rowvar, bool bias, std::optional<double> ddof,
         const StreamOrDevice& s) {
        return core::cov(x, y, rowvar, ddof.value_or(bias ? 0 : 1), s);
      });
  def(m, "corrcoef(x: array, y: array | None = None, rowvar: bool = True, *, " STREAM,
      [](const array& x, const OptionalArray& y, bool rowvar, const StreamOrDevice& s) {
        return core::corrcoef(x, y, rowvar, s);
      });
}

}  // namespace

core::OptionalAxes axes_of(const Axes& axes) {
  if (auto* one = std::get_if<int>(&axes)) return std::vector<int>{*one};
  if (auto* several = std::get_if<std::vector<int>>(&axes)) return *several;
  return {};
}

void bind_statistics(nb::module_& m) {
  bind_without_nan(m);
  bind_quantiles(m);
  bind_averages(m);
}

}  // namespace mlx::python
