// Shapes, layouts, element types: reshape and related functions, transposition, casts, slices.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

/// Integers given as separate arguments or as one sequence: reshape(2, 3), reshape((2, 3)).
template <class C>
C bind_broadcasts(Star items, const char* op) {
  FromSequence<C> from;
  if (items.size() == 1 && from.load(items[0].ptr())) return std::move(from.value);
  from.value = {};
  for (size_t i = 0; i < items.size(); ++i) {
    From<typename C::value_type> one;
    if (!one.load(items[i].ptr()))
      fail<TypeError>(op, "an argument of type ", class_name(items[i]), "; integers are accepted");
    from.value.push_back(one.get());
  }
  return std::move(from.value);
}

array squeeze_axes(const array& a, const Axes& axes, const StreamOrDevice& s) {
  if (auto* one = std::get_if<int>(&axes)) return core::squeeze(a, *one, s);
  if (auto* several = std::get_if<std::vector<int>>(&axes)) return core::squeeze(a, *several, s);
  return core::squeeze(a, s);
}

void bind_shapes(nb::module_& m, nb::handle c) {
  def(m, "reshape(a: array, /, shape: Sequence[int], *, " STREAM,
      [](const array& a, Shape& shape, const StreamOrDevice& s) {
        return core::reshape(a, shape, s);
      });
  def(
      c, "reshape(self, *shape: int | Sequence[int], " STREAM,
      [](const array& a, Star shape, const StreamOrDevice& s) {
        return core::reshape(a, bind_broadcasts<Shape>(shape, "reshape"), s);
      },
      "The array in another shape, given as separate lengths or as a sequence; one length may be "
      "-1 and is inferred.");
  auto flatten = [](const array& a, int start, int end, const StreamOrDevice& s) {
    return core::flatten(a, start, end, s);
  };
  constexpr const char* flatten_doc =
      "Merges the axes `start_axis` to `end_axis`, inclusive, into one.";
  def(m, "flatten(a: array, /, start_axis: int = 0, end_axis: int = -1, *, " STREAM, flatten);
  def(c, "flatten(self, start_axis: int = 0, end_axis: int = -1, *, " STREAM, flatten, flatten_doc);
  def(m, "unflatten(a: array, /, axis: int, shape: Sequence[int], *, " STREAM,
      [](const array& a, int axis, Shape& shape, const StreamOrDevice& s) {
        return core::unflatten(a, axis, shape, s);
      });
  auto squeeze = [](const array& a, Axes& axes, const StreamOrDevice& s) {
    return squeeze_axes(a, axes, s);
  };
  constexpr const char* squeeze_doc =
      "Removes the given axes of length 1, or all axes of length 1.";
  def(m, "squeeze(a: array, /, axis: None | int | Sequence[int] = None, *, " STREAM, squeeze);
  def(c, "squeeze(self, axis: int | Sequence[int] | None = None, *, " STREAM, squeeze, squeeze_doc);
  def(m, "expand_dims(a: array, /, axis: int | Sequence[int], *, " STREAM,
      [](const array& a, std::variant<int, std::vector<int>>& axis, const StreamOrDevice& s) {
        if (auto* one = std::get_if<int>(&axis)) return core::expand_dims(a, *one, s);
        return core::expand_dims(a, std::get<std::vector<int>>(axis), s);
      });
}

void bind_broadcasting(nb::module_& m) {
  def(m, "broadcast_to(a: scalar | array, /, shape: Sequence[int], *, " STREAM,
      [](const array& a, Shape& shape, const StreamOrDevice& s) {
        return core::broadcast_to(a, shape, s);
      });
  def(m, "broadcast_arrays(*arrays: array, stream: StreamOrDevice = None) -> list[array]",
      [](Star arrays, const StreamOrDevice& s) {
        return core::broadcast_arrays(arrays_of(arrays, "broadcast_arrays"), s);
      });
  def(m, "broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]", [](Star shapes) {
    Shape out;
    for (size_t i = 0; i < shapes.size(); ++i) {
      From<Shape> from;
      if (!from.load(shapes[i].ptr()))
        fail<TypeError>("broadcast_shapes", "an argument of type ", class_name(shapes[i]),
                        "; sequences of integers are accepted");
      out = core::broadcast_shapes(out, from.value);
    }
    return out;
  });
#define MLX_AT_LEAST(NAME)                                                                       \
  def(                                                                                           \
      m, #NAME "(*arys: array, stream: StreamOrDevice = None) -> array | list[array]",           \
      [](Star items, const StreamOrDevice& s) -> nb::object {                                    \
        Arrays in = arrays_of(items, #NAME);                                                     \
        if (in.size() == 1) return nb::steal(wrap(core::NAME(in[0], s)));                        \
        return nb::steal(to_python(core::NAME(in, s)));                                          \
      },                                                                                         \
      "The arrays with axes of length 1 added up to the rank in the name; a list where several " \
      "are given.");
  MLX_AT_LEAST(atleast_1d)
  MLX_AT_LEAST(atleast_2d)
  MLX_AT_LEAST(atleast_3d)
#undef MLX_AT_LEAST
}

void bind_transposition(nb::module_& m, nb::handle c) {
  def(m, "transpose(a: array, /, axes: Sequence[int] | None = None, *, " STREAM,
      [](const array& a, std::optional<std::vector<int>>& axes, const StreamOrDevice& s) {
        return axes ? core::transpose(a, *axes, s) : core::transpose(a, s);
      });
  alias(m, "permute_dims", "transpose");
  def(
      c, "transpose(self, *axes: int | Sequence[int] | None, " STREAM,
      [](const array& a, Star axes, const StreamOrDevice& s) {
        if (axes.size() == 0 || (axes.size() == 1 && axes[0].is_none()))
          return core::transpose(a, s);
        return core::transpose(a, bind_broadcasts<std::vector<int>>(axes, "transpose"), s);
      },
      "Permutes the axes: axis i of the result is axis axes[i]; reverses all axes if none are "
      "given.");
  def(m, "matrix_transpose(a: array, /, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::matrix_transpose(a, s); });
  auto swap = [](const array& a, int axis1, int axis2, const StreamOrDevice& s) {
    return core::swapaxes(a, axis1, axis2, s);
  };
  def(m, "swapaxes(a: array, /, axis1: int, axis2: int, *, " STREAM, swap);
  def(c, "swapaxes(self, axis1: int, axis2: int, *, " STREAM, swap, "Swaps two axes.");
  auto move = [](const array& a, int source, int destination, const StreamOrDevice& s) {
    return core::moveaxis(a, source, destination, s);
  };
  def(m, "moveaxis(a: array, /, source: int, destination: int, *, " STREAM, move);
  def(c, "moveaxis(self, source: int, destination: int, *, " STREAM, move,
      "Moves axis `source` to position `destination`.");
  def(m, "flip(a: array, /, axis: None | int | Sequence[int] = None, *, " STREAM,
      [](const array& a, Axes& axes, const StreamOrDevice& s) {
        if (auto* one = std::get_if<int>(&axes)) return core::flip(a, *one, s);
        if (auto* several = std::get_if<std::vector<int>>(&axes)) return core::flip(a, *several, s);
        return core::flip(a, s);
      });
}

void bind_diagonals(nb::module_& m, nb::handle c) {
  auto diagonal = [](const array& a, int offset, int axis1, int axis2, const StreamOrDevice& s) {
    return core::diagonal(a, offset, axis1, axis2, s);
  };
  constexpr const char* doc = "The diagonals of the planes that two axes span, as a last axis.";
  def(m, "diagonal(a: array, offset: int = 0, axis1: int = 0, axis2: int = 1, " STREAM, diagonal);
  def(c, "diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1, " STREAM, diagonal, doc);
  def(
      c, "diag(self, k: int = 0, *, " STREAM,
      [](const array& a, int k, const StreamOrDevice& s) { return core::diag(a, k, s); },
      "The k-th diagonal of a matrix, or the matrix with a vector on it.");
  def(m,
      "trace(a: array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, "
      "dtype: Dtype | None = None, *, " STREAM,
      [](const array& a, int offset, int axis1, int axis2, std::optional<Dtype> dtype,
         const StreamOrDevice& s) {
        if (dtype) return core::trace(a, offset, axis1, axis2, *dtype, s);
        return core::trace(a, offset, axis1, axis2, s);
      });
  def(m,
      "as_strided(a: array, /, shape: Sequence[int] | None = None, "
      "strides: Sequence[int] | None = None, offset: int = 0, *, " STREAM,
      [](const array& a, std::optional<Shape>& shape, std::optional<Shape>& strides, int64_t offset,
         const StreamOrDevice& s) {
        Shape to = shape.value_or(a.shape());
        Strides steps = strides ? *strides : core::row_major(to);
        return core::as_strided(a, to, steps, offset, s);
      });
}

void bind_slice_functions(nb::module_& m) {
  def(m,
      "slice(a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], "
      "*, " STREAM,
      [](const array& a, const array& start, std::vector<int>& axes, Shape& size,
         const StreamOrDevice& s) { return core::slice(a, start, axes, size, s); });
  def(m,
      "slice_update(a: array, update: array, start_indices: array, axes: Sequence[int], *, " STREAM,
      [](const array& a, Operand update, const array& start, std::vector<int>& axes,
         const StreamOrDevice& s) {
        return core::slice_update(a, convert_operand("slice_update", a, update), start, axes, s);
      });
}

}  // namespace

void bind_views(nb::module_& m, nb::handle array_class) {
  bind_shapes(m, array_class);
  bind_broadcasting(m);
  bind_transposition(m, array_class);
  bind_diagonals(m, array_class);
  bind_slice_functions(m);
}

void bind_conversion(nb::module_& m, nb::handle c) {
  auto astype = [](const array& a, Dtype t, const StreamOrDevice& s) {
    return core::astype(a, t, s);
  };
  def(m, "astype(a: array, dtype: Dtype, /, *, " STREAM, astype);
  def(c, "astype(self, dtype: Dtype, " STREAM, astype, "The elements converted to a dtype.");
  auto view = [](const array& a, Dtype t, const StreamOrDevice& s) { return core::view(a, t, s); };
  constexpr const char* doc = "The bytes reinterpreted as elements of another dtype.";
  def(m, "view(a: scalar | array, dtype: Dtype, " STREAM, view);
  def(c, "view(self, dtype: Dtype, *, " STREAM, view, doc);
  def(m, "contiguous(a: array, /, allow_col_major: bool = False, *, " STREAM,
      [](const array& a, bool col, const StreamOrDevice& s) {
        return core::contiguous(a, col, s);
      });
  def(m, "stop_gradient(a: array, /, *, " STREAM,
      [](const array& a, const StreamOrDevice& s) { return core::stop_gradient(a, s); });
  def(m, "to_fp8(x: array, *, " STREAM,
      [](const array& x, const StreamOrDevice& s) { return core::to_fp8(x, s); });
  def(m, "from_fp8(x: array, dtype: Dtype = bfloat16, *, " STREAM,
      [](const array& x, Dtype t, const StreamOrDevice& s) { return core::from_fp8(x, t, s); });
  def(m,
      "depends(inputs: array | Sequence[array], dependencies: array | Sequence[array]) -> "
      "array | list[array]",
      [](std::variant<array, Arrays>& inputs, std::variant<array, Arrays>& deps) -> nb::object {
        auto list = [](std::variant<array, Arrays>& v) {
          return v.index() == 0 ? Arrays{std::get<array>(v)} : std::get<Arrays>(v);
        };
        Arrays out = core::depends(list(inputs), list(deps));
        if (inputs.index() == 0) return nb::steal(wrap(out.at(0)));
        return nb::steal(to_python(out));
      });
}

}  // namespace mlx::python
