// Functions of NumPy that join, divide, mirror and extend arrays, and index arrays.
#include "mlx/ops/arrange.h"

#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define LISTED "stream: StreamOrDevice = None) -> list[array]"
#define PAIR "stream: StreamOrDevice = None) -> tuple[array, ...]"

void bind_stacks(nb::module_& m) {
#define MLX_STACK(NAME)                            \
  def(m, #NAME "(arrays: list[array], *, " STREAM, \
      [](Arrays& arrays, const StreamOrDevice& s) { return core::NAME(arrays, s); });
  MLX_STACK(vstack)
  MLX_STACK(hstack)
  MLX_STACK(dstack)
  MLX_STACK(column_stack)
#undef MLX_STACK
  alias(m, "row_stack", "vstack");
  def(m, "append(a: scalar | array, values: scalar | array, axis: int | None = None, *, " STREAM,
      [](Operand x, Operand values, std::optional<int> axis, const StreamOrDevice& s) {
        BothOperands o("append", x, values);
        return axis ? core::concatenate({*o.a, *o.b}, *axis, s)
                    : core::concatenate({*o.a, *o.b}, s);
      });
}

/// An axis divided as NumPy's split divides it.
Arrays divided(const array& a, const std::variant<int, Shape>& parts, int axis,
               const StreamOrDevice& s) {
  if (auto* n = std::get_if<int>(&parts)) return core::split(a, *n, axis, s);
  return core::split(a, std::get<Shape>(parts), axis, s);
}

void bind_divisions(nb::module_& m) {
#define MLX_SPLIT(NAME, AXIS)                                                        \
  def(m, #NAME "(a: array, indices_or_sections: int | Sequence[int], *, " LISTED,    \
      [](const array& a, std::variant<int, Shape>& parts, const StreamOrDevice& s) { \
        return divided(a, parts, AXIS, s);                                           \
      });
  MLX_SPLIT(vsplit, 0)
  MLX_SPLIT(hsplit, a.ndim() == 1 ? 0 : 1)
  MLX_SPLIT(dsplit, 2)
#undef MLX_SPLIT
  def(m,
      "array_split(a: array, indices_or_sections: int | Sequence[int], axis: int = 0, *, " LISTED,
      [](const array& a, std::variant<int, Shape>& parts, int axis, const StreamOrDevice& s) {
        if (auto* n = std::get_if<int>(&parts)) return core::array_split(a, *n, axis, s);
        return core::split(a, std::get<Shape>(parts), axis, s);
      });
}

void bind_mirrors(nb::module_& m) {
#define MLX_MIRROR(NAME)                \
  def(m, #NAME "(a: array, *, " STREAM, \
      [](const array& a, const StreamOrDevice& s) { return core::NAME(a, s); });
  MLX_MIRROR(flipud)
  MLX_MIRROR(fliplr)
#undef MLX_MIRROR
  def(m, "rot90(a: array, k: int = 1, axes: tuple[int, int] = (0, 1), *, " STREAM,
      [](const array& a, int k, std::pair<int, int>& axes, const StreamOrDevice& s) {
        return core::rot90(a, k, axes, s);
      });
  def(m, "ravel(a: array, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::flatten(a, s); });
  def(m, "diagflat(a: array, k: int = 0, *, " STREAM,
      [](const array& a, int k, const StreamOrDevice& s) { return core::diagflat(a, k, s); });
  def(m, "copy(a: array, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::copy(a, s); });
}

std::vector<int64_t> numbers_of(const std::variant<int, std::vector<int>>& indices) {
  if (auto* one = std::get_if<int>(&indices)) return {*one};
  const auto& several = std::get<std::vector<int>>(indices);
  return {several.begin(), several.end()};
}

void bind_changes(nb::module_& m) {
  def(m,
      "insert(a: scalar | array, obj: int | Sequence[int], values: scalar | array, "
      "axis: int | None = None, *, " STREAM,
      [](Operand given, std::variant<int, std::vector<int>>& at, Operand inserted,
         std::optional<int> axis, const StreamOrDevice& s) {
        BothOperands o("insert", given, inserted);
        const array& values = *o.b;
        const array x = axis ? *o.a : core::flatten(*o.a, s);
        // One place takes all slices of the values.
        std::vector<int64_t> places = numbers_of(at);
        const int d = axis.value_or(0);
        if (places.size() == 1 && values.ndim() == x.ndim() && values.ndim() > 0)
          places.assign(static_cast<size_t>(values.shape(d)), places[0]);
        return core::insert(x, places, values, d, s);
      });
  def(m, "delete(a: array, obj: int | Sequence[int], axis: int | None = None, *, " STREAM,
      [](const array& a, std::variant<int, std::vector<int>>& at, std::optional<int> axis,
         const StreamOrDevice& s) {
        return core::remove(axis ? a : core::flatten(a, s), numbers_of(at), axis.value_or(0), s);
      });
}

void bind_indices(nb::module_& m) {
#define MLX_TRIANGLE(NAME)                                                              \
  def(m, #NAME "_indices(n: int, k: int = 0, m: int | None = None, *, " PAIR,           \
      [](int n, int k, std::optional<int> columns, const StreamOrDevice& s) {           \
        return tuple_of(core::NAME##_indices(n, k, columns.value_or(n), s));            \
      });                                                                               \
  def(m, #NAME "_indices_from(a: array, k: int = 0, *, " PAIR,                          \
      [](const array& a, int k, const StreamOrDevice& s) {                              \
        if (a.ndim() != 2)                                                              \
          fail<ValueError>(#NAME "_indices_from", a.ndim(), " axes; two are accepted"); \
        return tuple_of(core::NAME##_indices(a.shape(0), k, a.shape(1), s));            \
      });
  MLX_TRIANGLE(tril)
  MLX_TRIANGLE(triu)
#undef MLX_TRIANGLE
  def(m, "diag_indices(n: int, ndim: int = 2, *, " PAIR,
      [](int n, int ndim, const StreamOrDevice& s) {
        return tuple_of(Arrays(static_cast<size_t>(std::max(ndim, 0)),
                               core::integer_range(0, n, 1, core::int32, s)));
      });
  def(m, "indices(dimensions: Sequence[int], dtype: Dtype | None = int32, *, " STREAM,
      [](Shape& shape, std::optional<Dtype> t, const StreamOrDevice& s) {
        return core::indices(shape, t.value_or(core::int32), s);
      });
  def(m, "unravel_index(indices: array, shape: int | Sequence[int], *, " PAIR,
      [](const array& index, AnyShape& shape, const StreamOrDevice& s) {
        return tuple_of(core::unravel_index(index, shape.shape, s));
      });
  def(m, "ravel_multi_index(multi_index: Sequence[array], dims: Sequence[int], *, " STREAM,
      [](Arrays& index, Shape& shape, const StreamOrDevice& s) {
        return core::ravel_multi_index(index, shape, s);
      });
  def(m, "lexsort(keys: Sequence[array], axis: int = -1, *, " STREAM,
      [](Arrays& keys, int axis, const StreamOrDevice& s) { return core::lexsort(keys, axis, s); });
  def(m,
      "select(condlist: Sequence[array], choicelist: Sequence[array], "
      "default: scalar | array = 0, *, " STREAM,
      [](Arrays& conditions, Arrays& choices, Operand otherwise, const StreamOrDevice& s) {
        if (choices.empty()) fail<ValueError>("select", "no choices; at least one is accepted");
        return core::select(conditions, choices, convert_operand("select", choices[0], otherwise),
                            s);
      });
}

}  // namespace

void bind_arrangements(nb::module_& m) {
  bind_stacks(m);
  bind_divisions(m);
  bind_mirrors(m);
  bind_changes(m);
  bind_indices(m);
}

}  // namespace mlx::python
