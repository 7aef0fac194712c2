// Compositions that join, divide, mirror and extend arrays.
#include "mlx/ops/arrange.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"
#include "mlx/ops/standard.h"

namespace mlx::core {

namespace {

void require_some(const char* op, const std::vector<array>& arrays) {
  if (arrays.empty()) fail(op, "no arrays; at least one is accepted");
}
void require_axes(const char* op, const array& a, size_t n) {
  if (a.ndim() < n)
    fail(op, "an array of shape ", to_string(a.shape()), "; at least ", n, " axes are accepted");
}
int axis_of(const array& a, int axis, const char* op) {
  return normalize_axis(axis, static_cast<int64_t>(a.ndim()), op);
}

/// Indices from 0 to `end`, of which negative ones count from the end.
std::vector<int64_t> positions(const char* op, const std::vector<int64_t>& given, int64_t end,
                               int64_t n) {
  std::vector<int64_t> out;
  for (const int64_t i : given) {
    if (i < -n || i >= end)
      fail<IndexError>(op, "index ", i, "; ", -n, " to ", end - 1, " are accepted");
    out.push_back(i < 0 ? i + n : i);
  }
  return out;
}
array index_array(const std::vector<int64_t>& values) {
  std::vector<int32_t> narrow(values.begin(), values.end());
  return array(narrow.data(), {static_cast<int64_t>(narrow.size())}, int32);
}

std::vector<array> triangle(const std::vector<std::pair<int64_t, int64_t>>& rows) {
  std::vector<int64_t> row, column;
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t j = rows[i].first; j < rows[i].second; ++j) {
      row.push_back(static_cast<int64_t>(i));
      column.push_back(j);
    }
  return {index_array(row), index_array(column)};
}
void require_size(const char* op, int64_t n, int64_t m) {
  if (n < 0 || m < 0) fail(op, n, " by ", m, "; numbers from 0 are accepted");
}

}  // namespace

array vstack(const std::vector<array>& arrays, StreamOrDevice s) {
  require_some("vstack", arrays);
  return concatenate(atleast_2d(arrays, s), 0, s);
}
array hstack(const std::vector<array>& arrays, StreamOrDevice s) {
  require_some("hstack", arrays);
  const std::vector<array> parts = atleast_1d(arrays, s);
  return concatenate(parts, parts[0].ndim() == 1 ? 0 : 1, s);
}
array dstack(const std::vector<array>& arrays, StreamOrDevice s) {
  require_some("dstack", arrays);
  return concatenate(atleast_3d(arrays, s), 2, s);
}
array column_stack(const std::vector<array>& arrays, StreamOrDevice s) {
  require_some("column_stack", arrays);
  std::vector<array> columns;
  for (const array& a : arrays)
    columns.push_back(a.ndim() < 2 ? transpose(atleast_2d(a, s), s) : a);
  return concatenate(columns, 1, s);
}

std::vector<array> array_split(const array& a, int64_t n, int axis, StreamOrDevice s) {
  axis = axis_of(a, axis, "array_split");
  if (n < 1) fail("array_split", n, " parts; at least 1 is accepted");
  note_shape_read(a);
  const int64_t length = a.shape(axis), longer = length % n;
  Shape ends;
  for (int64_t i = 1; i < n; ++i) ends.push_back(i * (length / n) + std::min(i, longer));
  return split(a, ends, axis, s);
}

array flipud(const array& a, StreamOrDevice s) {
  require_axes("flipud", a, 1);
  return flip(a, 0, s);
}
array fliplr(const array& a, StreamOrDevice s) {
  require_axes("fliplr", a, 2);
  return flip(a, 1, s);
}
array rot90(const array& a, int k, const std::pair<int, int>& axes, StreamOrDevice s) {
  const int from = axis_of(a, axes.first, "rot90"), to = axis_of(a, axes.second, "rot90");
  if (from == to) fail("rot90", "axes ", from, " and ", to, "; two different ones are accepted");
  const int quarters = (k % 4 + 4) % 4;
  if (quarters == 0) return a;
  if (quarters == 2) return flip(flip(a, from, s), to, s);
  if (quarters == 1) return swapaxes(flip(a, to, s), from, to, s);
  return flip(swapaxes(a, from, to, s), to, s);
}

array insert(const array& a, const std::vector<int64_t>& indices, const array& values, int axis,
             StreamOrDevice s) {
  axis = axis_of(a, axis, "insert");
  note_shape_read(a);
  const int64_t n = a.shape(axis);
  const auto at = positions("insert", indices, n + 1, n);
  Shape shape = a.shape();
  shape[axis] = static_cast<int64_t>(at.size());
  const array v = broadcast_to(astype(values, a.dtype(), s), shape, s);
  // Old and new elements, each with its place in the result.
  std::vector<int64_t> order;
  std::vector<size_t> sorted(at.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::ranges::stable_sort(sorted, {}, [&](size_t i) { return at[i]; });
  auto next = sorted.begin();
  for (int64_t i = 0; i <= n; ++i) {
    for (; next != sorted.end() && at[*next] == i; ++next)
      order.push_back(n + static_cast<int64_t>(*next));
    if (i < n) order.push_back(i);
  }
  return take(concatenate({a, v}, axis, s), index_array(order), axis, s);
}

array remove(const array& a, const std::vector<int64_t>& indices, int axis, StreamOrDevice s) {
  axis = axis_of(a, axis, "delete");
  note_shape_read(a);
  const int64_t n = a.shape(axis);
  std::vector<bool> gone(n, false);
  for (const int64_t i : positions("delete", indices, n, n)) gone[i] = true;
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < n; ++i)
    if (!gone[i]) kept.push_back(i);
  return take(a, index_array(kept), axis, s);
}

std::vector<array> tril_indices(int64_t n, int k, int64_t m, StreamOrDevice) {
  require_size("tril_indices", n, m);
  std::vector<std::pair<int64_t, int64_t>> rows;
  for (int64_t i = 0; i < n; ++i) rows.emplace_back(0, std::clamp(i + k + 1, int64_t{0}, m));
  return triangle(rows);
}
std::vector<array> triu_indices(int64_t n, int k, int64_t m, StreamOrDevice) {
  require_size("triu_indices", n, m);
  std::vector<std::pair<int64_t, int64_t>> rows;
  for (int64_t i = 0; i < n; ++i) rows.emplace_back(std::clamp(i + k, int64_t{0}, m), m);
  return triangle(rows);
}

array indices(const Shape& shape, Dtype dtype, StreamOrDevice s) {
  std::vector<array> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    Shape along(shape.size(), 1);
    along[i] = shape[i];
    const array line = integer_range(0, shape[i], 1, dtype, s);
    axes.push_back(broadcast_to(reshape(line, along, s), shape, s));
  }
  if (axes.empty()) return zeros({0}, dtype, s);
  return stack(axes, 0, s);
}

std::vector<array> unravel_index(const array& index, const Shape& shape, StreamOrDevice s) {
  if (is_inexact(index.dtype()))
    fail("unravel_index", dtype_name(index.dtype()), "; integers are accepted");
  const Dtype t = index.dtype() == bool_ || index.dtype().size() < 4 ? int32 : index.dtype();
  array rest = astype(index, t, s);
  std::vector<array> out(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const array length = array(shape[i], t);
    out[i] = remainder(rest, length, s);
    rest = floor_divide(rest, length, s);
  }
  return out;
}

array ravel_multi_index(const std::vector<array>& index, const Shape& shape, StreamOrDevice s) {
  if (index.size() != shape.size() || index.empty())
    fail("ravel_multi_index", index.size(), " index arrays for ", shape.size(),
         " axes; one for each axis is accepted");
  array out;
  for (size_t i = 0; i < index.size(); ++i) {
    if (is_inexact(index[i].dtype()))
      fail("ravel_multi_index", dtype_name(index[i].dtype()), "; integers are accepted");
    const array part = astype(index[i], promote_types(index[i].dtype(), int32), s);
    out = i == 0 ? part : add(multiply(out, array(shape[i], part.dtype()), s), part, s);
  }
  return out;
}

array diagflat(const array& a, int k, StreamOrDevice s) { return diag(flatten(a, s), k, s); }

array select(const std::vector<array>& conditions, const std::vector<array>& choices,
             const array& otherwise, StreamOrDevice s) {
  if (conditions.size() != choices.size() || choices.empty())
    fail("select", conditions.size(), " conditions for ", choices.size(),
         " choices; equal numbers from 1 are accepted");
  array out = otherwise;
  for (size_t i = choices.size(); i-- > 0;) out = where(conditions[i], choices[i], out, s);
  return out;
}

array lexsort(const std::vector<array>& keys, int axis, StreamOrDevice s) {
  require_some("lexsort", keys);
  axis = axis_of(keys[0], axis, "lexsort");
  for (const array& key : keys)
    if (key.shape() != keys[0].shape())
      fail("lexsort", "keys of shapes ", to_string(keys[0].shape()), " and ",
           to_string(key.shape()), "; equal shapes are accepted");
  array order = argsort(keys[0], axis, s);
  for (size_t i = 1; i < keys.size(); ++i) {
    const array next = argsort(take_along_axis(keys[i], order, axis, s), axis, s);
    order = take_along_axis(order, next, axis, s);
  }
  return order;
}

}  // namespace mlx::core
