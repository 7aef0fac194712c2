// Methods that arrays of NumPy have beside those of MLX. They return new arrays.
#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/arrange.h"
#include "mlx/ops/compact.h"
#include "mlx/ops/standard.h"
#include "mlx/ops/statistics.h"
#include "module.h"

namespace mlx::python {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

namespace {

void bind_order_methods(nb::handle c) {
#define MLX_PARTITION(NAME)                                                           \
  def(c, #NAME "(self, kth: int, axis: None | int = -1, *, " STREAM,                  \
      [](const array& a, int kth, std::optional<int> axis, const StreamOrDevice& s) { \
        return axis ? core::NAME(a, kth, *axis, s) : core::NAME(a, kth, s);           \
      });
  MLX_PARTITION(partition)
  MLX_PARTITION(argpartition)
#undef MLX_PARTITION
  def(c,
      "searchsorted(self, v: scalar | array, side: str = 'left', sorter: array | None = None, "
      "*, " STREAM,
      [](const array& a, Operand given, std::string& side, const std::optional<array>& sorter,
         const StreamOrDevice& s) {
        array values = convert_operand("searchsorted", a, given);
        return sorter ? core::searchsorted(a, values, side, *sorter, s)
                      : core::searchsorted(a, values, side, s);
      });
}

void bind_selections(nb::handle c) {
  def(c, "nonzero(self, *, stream: StreamOrDevice = None) -> tuple[array, ...]",
      [](array a, const StreamOrDevice& s) { return tuple_of(core::nonzero(a, s)); });
  def(c, "compress(self, condition: array, axis: int | None = None, *, " STREAM,
      [](array a, array condition, std::optional<int> axis, const StreamOrDevice& s) {
        return core::compress(condition, a, axis, s);
      });
  def(c, "choose(self, choices: Sequence[array], mode: str = 'clip', *, " STREAM,
      [](const array& index, Arrays& choices, const std::string& mode, const StreamOrDevice& s) {
        return python::choose(index, choices, mode, s);
      });
  def(c, "repeat(self, repeats: int | array, axis: int | None = None, *, " STREAM,
      [](const array& a, std::variant<int, array>& repeats, std::optional<int> axis,
         const StreamOrDevice& s) {
        const array from = axis ? a : core::flatten(a, s);
        auto* n = std::get_if<int>(&repeats);
        return n ? core::repeat(from, *n, axis.value_or(0), s)
                 : core::repeat(from, std::get<array>(repeats), axis.value_or(0), s);
      });
}

}  // namespace

void bind_methods(nb::module_&, nb::handle c) {
  bind_order_methods(c);
  bind_selections(c);
  def(c, "ravel(self, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::flatten(a, s); });
  def(c, "conjugate(self, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::conjugate(a, s); });
  def(c, "ptp(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, " STREAM,
      [](const array& a, const Axes& axis, bool keepdims, const StreamOrDevice& s) {
        return core::ptp(a, axes_of(axis), keepdims, s);
      });
  def(c,
      "trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Dtype | None = None, "
      "*, " STREAM,
      [](const array& a, int offset, int axis1, int axis2, std::optional<Dtype> dtype,
         const StreamOrDevice& s) {
        if (dtype) return core::trace(a, offset, axis1, axis2, *dtype, s);
        return core::trace(a, offset, axis1, axis2, s);
      });
  def(c, "tobytes(self) -> bytes", [](ArrayObject self) {
    checked(self.ptr());
    return nb::steal(PyObject_Bytes(self.ptr()));
  });
}

}  // namespace mlx::python
