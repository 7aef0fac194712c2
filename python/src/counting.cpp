// Counting values.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"
using OptionalArray = std::optional<array>;

/// Bins as a number, or as an array or sequence of edges.
nb::object histogram(array a, nb::handle bins, const core::HistogramRange& range,
                     const OptionalArray& weights, bool density, const StreamOrDevice& s) {
  int64_t count = 0;
  const bool several =
      is_array_like(bins.ptr()) || PyList_Check(bins.ptr()) || PyTuple_Check(bins.ptr());
  std::pair<array, array> out;
  if (several) {
    out = core::histogram(a, to_array(bins.ptr()), weights, density, s);
  } else if (load_integer(bins.ptr(), count)) {
    if (count > INT32_MAX) fail<SizeError>("histogram", count, " bins do not fit 32 bits");
    out = core::histogram(a, static_cast<int>(std::max<int64_t>(count, 0)), range, weights, density,
                          s);
  } else {
    fail<TypeError>("histogram", "bins of type ", class_name(bins),
                    "; a number and a sequence of bounds are accepted");
  }
  return tuple_of({out.first, out.second});
}

}  // namespace

void bind_counting(nb::module_& m) {
  def(m,
      "isin(x1: scalar | array, x2: scalar | array, /, *, invert: bool = False, "
      "assume_unique: bool = False, " STREAM,
      [](Operand a, Operand b, bool invert, bool, const StreamOrDevice& s) {
        const array *x, *values;
        array room_x, room_values;
        if (!to_operands(a.object, b.object, x, values, room_x, room_values))
          fail<TypeError>("isin", "operands of types ", class_name(a.object), " and ",
                          class_name(b.object), "; scalars and arrays are accepted");
        return core::isin(*x, *values, invert, s);
      });
  def(m,
      "bincount(x: array, /, weights: array | None = None, minlength: int = 0, *, "
      "length: int | None = None, " STREAM,
      [](array x, const OptionalArray& weights, int64_t minlength, std::optional<int64_t> length,
         const StreamOrDevice& s) { return core::bincount(x, weights, minlength, length, s); });
  def(m,
      "histogram(a: array, bins: int | Sequence[scalar] | array = 10, "
      "range: tuple[float, float] | None = None, weights: array | None = None, "
      "density: bool = False, *, stream: StreamOrDevice = None) -> tuple[array, array]",
      [](const array& a, nb::handle bins, std::optional<std::pair<double, double>>& range,
         const OptionalArray& weights, bool density,
         const StreamOrDevice& s) { return histogram(a, bins, range, weights, density, s); });
}

}  // namespace mlx::python
