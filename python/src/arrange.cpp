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

/// Nested lists of arrays, joined along the last axis inside and along the first one outside.
array joined_blocks(nb::handle item, int depth, int levels, size_t ndim, const StreamOrDevice& s) {
  if (!PyList_Check(item.ptr())) {
    if (depth != levels)
      fail<ValueError>("block", "an array in ", depth, " lists beside one in ", levels,
                       "; arrays in equally many lists are accepted");
    array a = to_array(item.ptr());
    Shape shape(std::max(ndim, a.ndim()) - a.ndim(), 1);
    shape.insert(shape.end(), a.shape().begin(), a.shape().end());
    return core::reshape(a, shape, s);
  }
  if (PyList_GET_SIZE(item.ptr()) == 0)
    fail<ValueError>("block", "an empty list; at least one array is accepted");
  if (depth == levels) fail_changed("block");  // it was less deep when it was measured
  Arrays parts;
  each_item(item.ptr(), [&](PyObject* part) {
    parts.push_back(joined_blocks(part, depth + 1, levels, ndim, s));
    return true;
  });
  return core::concatenate(parts, depth - levels, s);
}
/// The number of lists around the first array, and the largest number of axes of any.
void measure_blocks(nb::handle item, int depth, int& levels, size_t& ndim) {
  if (PyList_Check(item.ptr())) {
    if (depth >= 32)
      fail<ValueError>("block", "more than 32 lists inside of each other; less is accepted");
    each_item(item.ptr(), [&](PyObject* part) {
      measure_blocks(part, depth + 1, levels, ndim);
      return true;
    });
    return;
  }
  levels = std::max(levels, depth);
  ndim = std::max(ndim, to_array(item.ptr()).ndim());
}

void bind_arrangements_of_shapes(nb::module_& m) {
  def(m, "rollaxis(a: array, axis: int, start: int = 0, *, " STREAM,
      [](const array& a, int axis, int start, const StreamOrDevice& s) {
        return core::rollaxis(a, axis, start, s);
      });
  def(m, "resize(a: array, new_shape: int | Sequence[int], *, " STREAM,
      [](const array& a, AnyShape& shape, const StreamOrDevice& s) {
        return core::resize(a, shape.shape, s);
      });
  def(m, "ix_(*args: array, stream: StreamOrDevice = None) -> tuple[array, ...]",
      [](Star args, const StreamOrDevice& s) {
        return tuple_of(core::ix_(arrays_of(args, "ix_"), s));
      });
  def(m, "block(arrays: array | list[Any], *, " STREAM,
      [](nb::handle arrays, const StreamOrDevice& s) {
        int levels = 0;
        size_t ndim = 0;
        measure_blocks(arrays, 0, levels, ndim);
        return joined_blocks(arrays, 0, levels, std::max(ndim, static_cast<size_t>(levels)), s);
      });
  def(m,
      "ediff1d(ary: array, to_end: scalar | array | None = None, "
      "to_begin: scalar | array | None = None, *, " STREAM,
      [](const array& a, std::optional<Operand> end, std::optional<Operand> begin,
         const StreamOrDevice& s) {
        const auto beside = [&](const std::optional<Operand>& o) {
          return o ? std::optional(convert_operand("ediff1d", a, *o)) : std::nullopt;
        };
        return core::ediff1d(a, beside(end), beside(begin), s);
      });
  def(m, "choose(a: array, choices: Sequence[array], mode: str = 'clip', *, " STREAM,
      [](const array& index, Arrays& choices, const std::string& mode, const StreamOrDevice& s) {
        return python::choose(index, choices, mode, s);
      });
#define MLX_PAIR(NAME)                                              \
  def(m, #NAME "(x1: array, x2: array, /, *, " STREAM,              \
      [](const array& a, const array& b, const StreamOrDevice& s) { \
        return core::NAME(a, b, s);                                 \
      });
  MLX_PAIR(matvec)
  MLX_PAIR(vecmat)
  MLX_PAIR(array_equiv)
#undef MLX_PAIR
}

/// Properties of an array, or of an object that becomes one.
void bind_properties(nb::module_& m) {
  def(m, "shape(a: ArrayInput) -> tuple[int, ...]",
      [](nb::handle a) { return nb::steal(to_python(to_array(a.ptr()).shape())); });
  def(m, "ndim(a: ArrayInput) -> int",
      [](nb::handle a) { return static_cast<int>(to_array(a.ptr()).ndim()); });
  def(m, "size(a: ArrayInput, axis: int | None = None) -> int",
      [](nb::handle given, std::optional<int> axis) {
        const array a = to_array(given.ptr());
        if (!axis) return static_cast<int64_t>(a.size());
        return a.shape(core::normalize_axis(*axis, static_cast<int64_t>(a.ndim()), "size"));
      });
  def(m, "isscalar(element: Any) -> bool", [](nb::handle element) {
    return is_scalar(element.ptr()) || PyUnicode_Check(element.ptr()) ||
           PyBytes_Check(element.ptr());
  });
  def(m, "iscomplexobj(x: ArrayInput) -> bool",
      [](nb::handle x) { return core::is_complex(to_array(x.ptr()).dtype()); });
  def(m, "isrealobj(x: ArrayInput) -> bool",
      [](nb::handle x) { return !core::is_complex(to_array(x.ptr()).dtype()); });
  def(m, "iscomplex(x: array, *, " STREAM, [](const array& x, const StreamOrDevice& s) {
    if (!core::is_complex(x.dtype())) return core::zeros(x.shape(), core::bool_, s);
    const array part = core::imag(x, s);
    return core::not_equal(part, core::constant(0, part.dtype()), s);
  });
  def(m, "isreal(x: array, *, " STREAM, [](const array& x, const StreamOrDevice& s) {
    if (!core::is_complex(x.dtype())) return core::ones(x.shape(), core::bool_, s);
    const array part = core::imag(x, s);
    return core::equal(part, core::constant(0, part.dtype()), s);
  });
  def(m, "promote_types(type1: Dtype, type2: Dtype) -> Dtype",
      [](Dtype a, Dtype b) { return core::promote_types(a, b); });
  def(m, "sort_complex(a: array, *, " STREAM, [](const array& a, const StreamOrDevice& s) {
    const Dtype t = core::promote_types(core::at_least_float(a.dtype()), core::complex64);
    return core::sort(core::astype(a, t, s), -1, s);
  });
  def(m, "ascontiguousarray(a: ArrayInput, dtype: Dtype | None = None, *, " STREAM,
      [](nb::handle a, std::optional<Dtype> t, const StreamOrDevice& s) {
        return core::contiguous(core::atleast_1d(to_array(a.ptr(), t), s), false, s);
      });
  alias(m, "asanyarray", "asarray");
}

void bind_indices(nb::module_& m) {
  def(m, "diag_indices_from(arr: array, *, " PAIR, [](const array& a, const StreamOrDevice& s) {
    for (size_t i = 1; i < a.ndim(); ++i)
      if (a.shape(static_cast<int>(i)) != a.shape(0))
        fail<ValueError>("diag_indices_from", "an array of shape ", to_string(a.shape()),
                         "; axes of equal lengths are accepted");
    if (a.ndim() < 2)
      fail<ValueError>("diag_indices_from", "an array of shape ", to_string(a.shape()),
                       "; at least two axes are accepted");
    return tuple_of(Arrays(a.ndim(), core::integer_range(0, a.shape(0), 1, core::int32, s)));
  });
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

array choose(const array& index, const Arrays& choices, const std::string& mode,
             const StreamOrDevice& s) {
  if (mode != "clip" && mode != "wrap")
    fail<ValueError>("choose", "mode '", mode, "'; 'clip' and 'wrap' are accepted");
  return core::choose(index, choices, mode == "wrap", s);
}

void bind_arrangements(nb::module_& m) {
  bind_stacks(m);
  bind_divisions(m);
  bind_mirrors(m);
  bind_changes(m);
  bind_indices(m);
  bind_arrangements_of_shapes(m);
  bind_properties(m);
}

}  // namespace mlx::python
