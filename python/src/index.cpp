// Functions that read and write at indices.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

array take(const array& a, nb::handle indices, std::optional<int> axis, const StreamOrDevice& s) {
  if (int64_t i; PyLong_Check(indices.ptr()) && load_integer(indices.ptr(), i))
    return axis ? core::take(a, i, *axis, s) : core::take(a, i, s);
  array positions = to_array(indices.ptr());
  return axis ? core::take(a, positions, *axis, s) : core::take(a, positions, s);
}

/// Functions along an axis flatten if no axis is given.
array flat(const array& a, const StreamOrDevice& s) { return core::reshape(a, {-1}, s); }

}  // namespace

// Functions that evaluate an array to determine the shape of the result wait without the GIL: they
// take arrays by value, since other threads may change the object in the meantime.
void bind_indexing(nb::module_& m, nb::handle c) {
  def(c, "take(self, indices: int | array, axis: int | None = None, *, " STREAM,
      [](const array& a, nb::handle indices, std::optional<int> axis, const StreamOrDevice& s) {
        return take(a, indices, axis, s);
      });
  def(m, "take(a: array, /, indices: int | array, axis: int | None = None, *, " STREAM,
      [](const array& a, nb::handle indices, std::optional<int> axis, const StreamOrDevice& s) {
        return take(a, indices, axis, s);
      });
  def(m, "take_along_axis(a: array, /, indices: array, axis: int | None = -1, *, " STREAM,
      [](const array& a, const array& indices, std::optional<int> axis, const StreamOrDevice& s) {
        if (axis) return core::take_along_axis(a, indices, *axis, s);
        return core::take_along_axis(flat(a, s), flat(indices, s), 0, s);
      });
  def(m,
      "put_along_axis(a: array, /, indices: array, values: array, axis: int | None = None, "
      "*, " STREAM,
      [](const array& a, const array& indices, Operand given, std::optional<int> axis,
         const StreamOrDevice& s) {
        array values = convert_operand("put_along_axis", a, given);
        if (axis) return core::put_along_axis(a, indices, values, *axis, s);
        array out = core::put_along_axis(flat(a, s), flat(indices, s), flat(values, s), 0, s);
        return core::reshape(out, a.shape(), s);
      });
  def(m, "where(condition: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]",
      [](array condition, const StreamOrDevice& s) {
        return tuple_of(core::nonzero(condition, s));
      });
  def(m, "nonzero(a: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]",
      [](array a, const StreamOrDevice& s) { return tuple_of(core::nonzero(a, s)); });
  def(m, "argwhere(a: array, /, *, " STREAM,
      [](array a, const StreamOrDevice& s) { return core::argwhere(a, s); });
  def(m, "flatnonzero(a: array, /, *, " STREAM,
      [](array a, const StreamOrDevice& s) { return core::flatnonzero(a, s); });
  def(m, "compress(condition: array, a: array, axis: int | None = None, *, " STREAM,
      [](array condition, array a, std::optional<int> axis, const StreamOrDevice& s) {
        return core::compress(condition, a, axis, s);
      });
  def(m, "extract(condition: array, a: array, *, " STREAM,
      [](array condition, array a, const StreamOrDevice& s) {
        return core::extract(condition, a, s);
      });
}

}  // namespace mlx::python
