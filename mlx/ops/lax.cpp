// Compositions of functions of jax.lax.
#include "mlx/ops/lax.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"
#include "mlx/ops/standard.h"

namespace mlx::core {

namespace {

/// Starts of a slice of these lengths, which is within `a`.
array limited(const char* op, const array& a, const array& start, const Shape& sizes,
              StreamOrDevice s) {
  const auto n = static_cast<int64_t>(a.ndim());
  if (start.shape() != Shape{n} || is_inexact(start.dtype()) || sizes.size() != a.ndim())
    fail(op, "starts of shape ", to_string(start.shape()), " and dtype ", dtype_name(start.dtype()),
         " and the lengths ", to_string(sizes), " for an array of shape ", to_string(a.shape()),
         "; an integer for each axis is accepted");
  std::vector<int64_t> lengths, most;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > a.shape(static_cast<int>(i)))
      fail(op, "a slice of the lengths ", to_string(sizes), " of an array of shape ",
           to_string(a.shape()), "; at most the lengths of the array are accepted");
    lengths.push_back(a.shape(static_cast<int>(i)));
    most.push_back(lengths.back() - sizes[i]);
  }
  const array zero = constant(0, int64), whole = array(lengths.data(), {n}, int64);
  const array given = astype(start, int64, s);
  const array from_front = where(less(given, zero, s), add(given, whole, s), given, s);
  return astype(minimum(maximum(from_front, zero, s), array(most.data(), {n}, int64), s), int32, s);
}

std::vector<int> normalized(const array& a, const std::vector<int>& axes, const char* which) {
  std::vector<int> out;
  for (const int axis : axes) {
    out.push_back(normalize_axis(axis, static_cast<int64_t>(a.ndim()), "dot_general"));
    if (std::ranges::count(out, out.back()) > 1)
      fail("dot_general", "axis ", axis, " of ", which, " twice; once is accepted");
  }
  return out;
}
int64_t size_along(const array& a, const std::vector<int>& axes) {
  int64_t n = 1;
  for (const int axis : axes) n *= a.shape(axis);
  return n;
}
/// The axes that are in neither list.
std::vector<int> others(const array& a, const std::vector<int>& x, const std::vector<int>& y) {
  std::vector<int> out;
  for (const int axis : all_axes(a))
    if (!std::ranges::count(x, axis) && !std::ranges::count(y, axis)) out.push_back(axis);
  return out;
}
/// Axes in the order of three groups, each of which becomes one axis.
array grouped(const array& a, const std::vector<int>& x, const std::vector<int>& y,
              const std::vector<int>& z, StreamOrDevice s) {
  std::vector<int> order = x;
  order.insert(order.end(), y.begin(), y.end());
  order.insert(order.end(), z.begin(), z.end());
  return reshape(transpose(a, order, s), {size_along(a, x), size_along(a, y), size_along(a, z)}, s);
}

}  // namespace

array dynamic_slice(const array& a, const array& start, const Shape& sizes, StreamOrDevice s) {
  note_shape_read(a);
  const array from = limited("dynamic_slice", a, start, sizes, s);
  return a.ndim() == 0 ? a : slice(a, from, all_axes(a), sizes, s);
}
array dynamic_update_slice(const array& a, const array& update, const array& start,
                           StreamOrDevice s) {
  note_shape_read(a);
  const array from = limited("dynamic_update_slice", a, start, update.shape(), s);
  const array value = astype(update, a.dtype(), s);
  return a.ndim() == 0 ? value : slice_update(a, value, from, all_axes(a), s);
}

std::pair<array, array> top_k(const array& a, int64_t k, StreamOrDevice s) {
  if (a.ndim() == 0 || k < 0 || k > a.shape(-1))
    fail("top_k", k, " elements of an array of shape ", to_string(a.shape()),
         "; at most the length of its last axis is accepted");
  note_shape_read(a);
  Shape start(a.ndim(), 0), stop = a.shape();
  stop.back() = k;
  const array order = slice(argsort_descending(a, -1, s), start, stop, s);
  return {take_along_axis(a, order, -1, s), astype(order, int32, s)};
}

std::pair<array, array> sort_key_val(const array& keys, const array& values, int axis,
                                     StreamOrDevice s) {
  if (keys.shape() != values.shape())
    fail("sort_key_val", "keys and values of shapes ", to_string(keys.shape()), " and ",
         to_string(values.shape()), "; equal shapes are accepted");
  const array order = argsort(keys, axis, s);
  return {take_along_axis(keys, order, axis, s), take_along_axis(values, order, axis, s)};
}

array bitcast_convert_type(const array& a, Dtype dtype, StreamOrDevice s) {
  const int64_t from = a.dtype().size(), to = dtype.size();
  if (from == to) return view(a, dtype, s);
  if (from > to) return view(expand_dims(a, -1, s), dtype, s);
  if (a.ndim() == 0 || a.shape(-1) != to / from)
    fail("bitcast_convert_type", "an array of shape ", to_string(a.shape()), " and dtype ",
         dtype_name(a.dtype()), " for ", dtype_name(dtype), "; a last axis of length ", to / from,
         " is accepted");
  return squeeze(view(a, dtype, s), -1, s);
}

array broadcast(const array& a, const Shape& sizes, StreamOrDevice s) {
  Shape shape = sizes;
  shape.insert(shape.end(), a.shape().begin(), a.shape().end());
  return broadcast_to(a, shape, s);
}

array dot_general(const array& a, const array& b, const DotAxes& axes, StreamOrDevice s) {
  const std::vector<int> contract_a = normalized(a, axes.contract_a, "the first operand");
  const std::vector<int> contract_b = normalized(b, axes.contract_b, "the second operand");
  const std::vector<int> batch_a = normalized(a, axes.batch_a, "the first operand");
  const std::vector<int> batch_b = normalized(b, axes.batch_b, "the second operand");
  const auto fits = [&](const std::vector<int>& x, const std::vector<int>& y) {
    return std::ranges::equal(
        x, y, {}, [&](int i) { return a.shape(i); }, [&](int i) { return b.shape(i); });
  };
  if (!fits(contract_a, contract_b) || !fits(batch_a, batch_b))
    fail("dot_general", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; contracted and batch axes of equal lengths are accepted");
  note_shape_read(a);
  note_shape_read(b);
  const std::vector<int> free_a = others(a, contract_a, batch_a);
  const std::vector<int> free_b = others(b, contract_b, batch_b);
  Shape shape;
  for (const int axis : batch_a) shape.push_back(a.shape(axis));
  for (const int axis : free_a) shape.push_back(a.shape(axis));
  for (const int axis : free_b) shape.push_back(b.shape(axis));
  const Dtype t = promote_types(a.dtype(), b.dtype());
  const array x = astype(grouped(a, batch_a, free_a, contract_a, s), t, s);
  const array y = astype(grouped(b, batch_b, contract_b, free_b, s), t, s);
  if (is_inexact(t)) return reshape(matmul(x, y, s), shape, s);
  const array products = multiply(expand_dims(x, -1, s), expand_dims(y, 1, s), s);
  return reshape(astype(sum(products, 2, false, s), t, s), shape, s);
}

}  // namespace mlx::core
