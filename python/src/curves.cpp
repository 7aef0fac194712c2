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

/// The edges of the bins of a coordinate: a number of them, or the edges themselves.
array edges_of(const char* op, const array& x, nb::handle bins, const core::HistogramRange& range,
               const StreamOrDevice& s) {
  if (int64_t n; load_integer(bins.ptr(), n)) {
    if (n > INT32_MAX) fail<SizeError>(op, n, " bins do not fit 32 bits");
    return core::histogram(x, static_cast<int>(std::max<int64_t>(n, 0)), range, {}, false, s)
        .second;
  }
  if (!is_array(bins.ptr()) && !PyList_Check(bins.ptr()) && !PyTuple_Check(bins.ptr()))
    fail<TypeError>(op, "bins of type ", class_name(bins), "; a number and edges are accepted");
  return to_array(bins.ptr());
}
/// Item i of a list or tuple with an item for each coordinate, otherwise the object itself.
nb::object item_for(nb::handle given, size_t i, size_t n) {
  const bool listed = PyList_Check(given.ptr()) || PyTuple_Check(given.ptr());
  return listed && nb::len(given) == n ? nb::object(given[i]) : nb::borrow(given);
}
core::HistogramRange range_for(const char* op, nb::handle ranges, size_t i, size_t n) {
  if (ranges.is_none()) return {};
  From<std::optional<std::pair<double, double>>> range;
  nb::object item = item_for(ranges, i, n);
  if (!range.load(item.ptr()))
    fail<TypeError>(op, "a range of type ", class_name(item), "; two numbers are accepted");
  return range.get();
}

/// One array of each coordinate of points.
Arrays coordinates_in(nb::handle sample) {
  Arrays out;
  const auto add = [&](PyObject* x) {
    out.push_back(to_array(x));
    return true;
  };
  if (!each_item(sample.ptr(), add))
    fail<TypeError>("histogramdd", "a sample of type ", class_name(sample),
                    "; an array of points, and a sequence of arrays of coordinates are accepted");
  return out;
}

void bind_histograms(nb::module_& m) {
  def(m,
      "histogram_bin_edges(a: array, bins: int | Sequence[scalar] | array = 10, "
      "range: tuple[float, float] | None = None, *, " STREAM,
      [](const array& a, nb::handle bins, const core::HistogramRange& range,
         const StreamOrDevice& s) { return edges_of("histogram_bin_edges", a, bins, range, s); });
  def(m,
      "histogram2d(x: array, y: array, bins: Any = 10, range: Any = None, density: bool = False, "
      "weights: array | None = None, *, stream: StreamOrDevice = None) -> "
      "tuple[array, array, array]",
      [](const array& x, const array& y, nb::handle bins, nb::handle ranges, bool density,
         const OptionalArray& weights, const StreamOrDevice& s) {
        const Arrays points{x, y};
        Arrays edges;
        for (size_t i = 0; i < 2; ++i)
          edges.push_back(edges_of("histogram2d", points[i], item_for(bins, i, 2),
                                   range_for("histogram2d", ranges, i, 2), s));
        return tuple_of(
            {core::histogramdd(points, edges, weights, density, s), edges[0], edges[1]});
      });
  def(m,
      "histogramdd(sample: array | Sequence[array], bins: Any = 10, range: Any = None, "
      "density: bool = False, weights: array | None = None, *, "
      "stream: StreamOrDevice = None) -> tuple[array, list[array]]",
      [](nb::handle sample, nb::handle bins, nb::handle ranges, bool density,
         const OptionalArray& weights, const StreamOrDevice& s) {
        Arrays points, edges;
        if (is_array(sample.ptr())) {
          const array a = to_array(sample.ptr());
          if (a.ndim() != 2)
            fail<ValueError>("histogramdd", "points of shape ", to_string(a.shape()),
                             "; two axes are accepted: points, coordinates");
          points = core::unstack(a, 1, s);
        } else {
          points = coordinates_in(sample);
        }
        const size_t n = points.size();
        for (size_t i = 0; i < n; ++i)
          edges.push_back(edges_of("histogramdd", points[i], item_for(bins, i, n),
                                   range_for("histogramdd", ranges, i, n), s));
        nb::list listed;
        for (const array& e : edges) listed.append(nb::steal(wrap(e)));
        return nb::make_tuple(
            nb::steal(wrap(core::histogramdd(points, edges, weights, density, s))), listed);
      });
  def(m, "correlate(a: array, v: array, mode: str = 'valid', *, " STREAM,
      [](const array& a, const array& v, const std::string& mode, const StreamOrDevice& s) {
        return core::correlate(a, v, mode, s);
      });
  def(m, "kaiser(M: int, beta: float, *, " STREAM,
      [](int n, double beta, const StreamOrDevice& s) { return core::kaiser(n, beta, s); });
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
  bind_histograms(m);
}

}  // namespace mlx::python
