// Functions of jax.lax, and parts of numbers.
#include "mlx/ops/lax.h"

#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/number_parts.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM_TO "stream: StreamOrDevice = None) -> "

/// Starts of slices: one array, or a sequence of integers and scalar arrays.
array starts(const char* op, nb::handle given, const StreamOrDevice& s) {
  if (is_array(given.ptr())) return to_array(given.ptr());
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr()))
    fail<TypeError>(op, "starts of type ", class_name(given),
                    "; an array and a sequence of integers are accepted");
  Arrays each;
  for (nb::handle item : nb::borrow<nb::sequence>(given)) {
    const array a = to_array(item.ptr());
    if (a.ndim() > 0 || core::is_inexact(a.dtype()))
      fail<ValueError>(op, "a start of shape ", to_string(a.shape()), " and dtype ",
                       dtype_name(a.dtype()), "; integers are accepted");
    each.push_back(core::astype(a, core::int64, s));
  }
  return each.empty() ? core::zeros({0}, core::int64, s) : core::stack(each, 0, s);
}

void bind_slices(nb::module_& m) {
  def(m,
      "dynamic_slice(operand: array, start_indices: array | Sequence[scalar | array], "
      "slice_sizes: Sequence[int], *, " STREAM_TO "array",
      [](const array& a, nb::handle start, Shape& sizes, const StreamOrDevice& s) {
        return core::dynamic_slice(a, starts("dynamic_slice", start, s), sizes, s);
      });
  def(m,
      "dynamic_update_slice(operand: array, update: array, "
      "start_indices: array | Sequence[scalar | array], *, " STREAM_TO "array",
      [](const array& a, const array& update, nb::handle start, const StreamOrDevice& s) {
        return core::dynamic_update_slice(a, update, starts("dynamic_update_slice", start, s), s);
      });
  def(m,
      "dynamic_index_in_dim(operand: array, index: scalar | array, axis: int = 0, "
      "keepdims: bool = True, *, " STREAM_TO "array",
      [](const array& a, const array& index, int axis, bool keepdims, const StreamOrDevice& s) {
        axis = core::normalize_axis(axis, static_cast<int64_t>(a.ndim()), "dynamic_index_in_dim");
        if (index.ndim() > 0 || core::is_inexact(index.dtype()))
          fail<ValueError>("dynamic_index_in_dim", "an index of shape ", to_string(index.shape()),
                           " and dtype ", dtype_name(index.dtype()), "; an integer is accepted");
        Arrays start(a.ndim(), core::constant(0, core::int64));
        start[axis] = core::astype(index, core::int64, s);
        Shape sizes = a.shape();
        sizes[axis] = 1;
        const array out = core::dynamic_slice(a, core::stack(start, 0, s), sizes, s);
        return keepdims ? out : core::squeeze(out, axis, s);
      });
}

std::vector<int> axes_in(nb::handle pair, int i) {
  From<std::vector<int>> axes;
  nb::object item = nb::borrow<nb::sequence>(pair)[i];
  if (!axes.load(item.ptr()))
    fail<TypeError>("dot_general", "axes of type ", class_name(item),
                    "; a sequence of integers is accepted");
  return axes.value;
}

void bind_general(nb::module_& m) {
  def(m,
      "dot_general(lhs: array, rhs: array, dimension_numbers: "
      "tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]], "
      "*, " STREAM_TO "array",
      [](const array& a, const array& b, nb::handle numbers, const StreamOrDevice& s) {
        const auto two = [](nb::handle o) {
          return (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr())) && nb::len(o) == 2;
        };
        if (!two(numbers) || !two(nb::object(numbers[0])) || !two(nb::object(numbers[1])))
          fail<ValueError>("dot_general", "dimension numbers ", repr_of(numbers),
                           "; ((contracted of lhs, of rhs), (batch of lhs, of rhs)) is accepted");
        const nb::object contract = numbers[0], batch = numbers[1];
        return core::dot_general(
            a, b,
            {axes_in(contract, 0), axes_in(contract, 1), axes_in(batch, 0), axes_in(batch, 1)}, s);
      });
  def(m, "top_k(operand: array, k: int, *, " STREAM_TO "tuple[array, array]",
      [](const array& a, int64_t k, const StreamOrDevice& s) {
        auto [values, indices] = core::top_k(a, k, s);
        return tuple_of({values, indices});
      });
  def(m,
      "sort_key_val(keys: array, values: array, dimension: int = -1, *, " STREAM_TO
      "tuple[array, array]",
      [](const array& keys, const array& values, int axis, const StreamOrDevice& s) {
        auto [sorted, beside] = core::sort_key_val(keys, values, axis, s);
        return tuple_of({sorted, beside});
      });
  def(m, "iota(dtype: Dtype, size: int, *, " STREAM_TO "array",
      [](Dtype t, int64_t size, const StreamOrDevice& s) {
        if (size < 0) fail<ValueError>("iota", "size ", size, "; numbers from 0 are accepted");
        return core::astype(core::integer_range(0, size, 1, core::int64, s), t, s);
      });
  def(m, "bitcast_convert_type(operand: array, new_dtype: Dtype, *, " STREAM_TO "array",
      [](const array& a, Dtype t, const StreamOrDevice& s) {
        return core::bitcast_convert_type(a, t, s);
      });
  def(m, "broadcast(operand: array, sizes: Sequence[int], *, " STREAM_TO "array",
      [](const array& a, Shape& sizes, const StreamOrDevice& s) {
        return core::broadcast(a, sizes, s);
      });
  def(m, "cumlogsumexp(operand: array, axis: int = 0, reverse: bool = False, *, " STREAM_TO "array",
      [](const array& a, int axis, bool reverse, const StreamOrDevice& s) {
        return core::logcumsumexp(a, axis, reverse, true, s);
      });
  alias(m, "erf_inv", "erfinv");
}

bool is_little(const std::string& order) {
  if (order != "big" && order != "little")
    fail<ValueError>("packbits", "bitorder '", order, "'; 'big' and 'little' are accepted");
  return order == "little";
}

void bind_parts(nb::module_& m) {
#define MLX_UNARY(NAME)                               \
  def(m, #NAME "(a: array, /, *, " STREAM_TO "array", \
      [](const array& a, const StreamOrDevice& s) { return core::NAME(a, s); });
  MLX_UNARY(bitwise_count)
  MLX_UNARY(population_count)
  MLX_UNARY(clz)
  MLX_UNARY(spacing)
#undef MLX_UNARY
#define MLX_SPLIT(NAME)                                             \
  def(m, #NAME "(a: array, /, *, " STREAM_TO "tuple[array, array]", \
      [](const array& a, const StreamOrDevice& s) {                 \
        auto [x, y] = core::NAME(a, s);                             \
        return tuple_of({x, y});                                    \
      });
  MLX_SPLIT(frexp)
  MLX_SPLIT(modf)
#undef MLX_SPLIT
  def(m, "ldexp(a: scalar | array, b: scalar | array, /, *, " STREAM_TO "array",
      [](const array& a, const array& b, const StreamOrDevice& s) { return core::ldexp(a, b, s); });
  def(m, "float_power(a: scalar | array, b: scalar | array, /, *, " STREAM_TO "array",
      [](Operand x, Operand y, const StreamOrDevice& s) {
        BothOperands o("float_power", x, y);
        const Dtype t = core::at_least_float(promote_types(o.a->dtype(), o.b->dtype()));
        return core::power(core::astype(*o.a, t, s), core::astype(*o.b, t, s), s);
      });
  def(m, "packbits(a: array, axis: int | None = None, bitorder: str = 'big', *, " STREAM_TO "array",
      [](const array& a, std::optional<int> axis, const std::string& order,
         const StreamOrDevice& s) {
        return core::packbits(axis ? a : core::flatten(a, s), axis.value_or(0), is_little(order),
                              s);
      });
  def(m,
      "unpackbits(a: array, axis: int | None = None, count: int | None = None, "
      "bitorder: str = 'big', *, " STREAM_TO "array",
      [](const array& a, std::optional<int> axis, std::optional<int64_t> count,
         const std::string& order, const StreamOrDevice& s) {
        return core::unpackbits(axis ? a : core::flatten(a, s), axis.value_or(0), count,
                                is_little(order), s);
      });
}

}  // namespace

void bind_lax(nb::module_& m) {
  bind_slices(m);
  bind_general(m);
  bind_parts(m);
}

}  // namespace mlx::python
