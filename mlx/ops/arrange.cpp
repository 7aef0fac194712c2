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

std::vector<array> triangle_indices(const std::vector<std::pair<int64_t, int64_t>>& rows) {
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
  axis = normalize_axis(axis, a.ndim(), "array_split");
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
  const int from = normalize_axis(axes.first, a.ndim(), "rot90"),
            to = normalize_axis(axes.second, a.ndim(), "rot90");
  if (from == to) fail("rot90", "axes ", from, " and ", to, "; two different ones are accepted");
  const int quarters = (k % 4 + 4) % 4;
  if (quarters == 0) return a;
  if (quarters == 2) return flip(flip(a, from, s), to, s);
  if (quarters == 1) return swapaxes(flip(a, to, s), from, to, s);
  return flip(swapaxes(a, from, to, s), to, s);
}

array insert(const array& a, const std::vector<int64_t>& indices, const array& values, int axis,
             StreamOrDevice s) {
  axis = normalize_axis(axis, a.ndim(), "insert");
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
  axis = normalize_axis(axis, a.ndim(), "delete");
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
  return triangle_indices(rows);
}
std::vector<array> triu_indices(int64_t n, int k, int64_t m, StreamOrDevice) {
  require_size("triu_indices", n, m);
  std::vector<std::pair<int64_t, int64_t>> rows;
  for (int64_t i = 0; i < n; ++i) rows.emplace_back(std::clamp(i + k, int64_t{0}, m), m);
  return triangle_indices(rows);
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
  axis = normalize_axis(axis, keys[0].ndim(), "lexsort");
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

array rollaxis(const array& a, int axis, int start, StreamOrDevice s) {
  const auto n = static_cast<int>(a.ndim());
  axis = normalize_axis(axis, a.ndim(), "rollaxis");
  if (start < -n || start > n)
    fail<IndexError>("rollaxis", "start ", start, "; ", -n, " to ", n, " are accepted");
  if (start < 0) start += n;
  return moveaxis(a, axis, start > axis ? start - 1 : start, s);
}

array resize(const array& a, const Shape& shape, StreamOrDevice s) {
  int64_t wanted = 1;
  for (const int64_t length : shape) {
    if (length < 0) fail("resize", "shape ", to_string(shape), "; lengths from 0 are accepted");
    wanted *= length;
  }
  note_shape_read(a);
  const auto n = static_cast<int64_t>(a.size());
  if (n == 0) return zeros(shape, a.dtype(), s);
  array line = flatten(a, s);
  if (wanted > n) line = tile(line, {static_cast<int>((wanted + n - 1) / n)}, s);
  return reshape(slice(line, {0}, {wanted}, s), shape, s);
}

std::vector<array> ix_(const std::vector<array>& vectors, StreamOrDevice s) {
  std::vector<array> out;
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (vectors[i].ndim() != 1)
      fail("ix_", "an array of shape ", to_string(vectors[i].shape()), "; one axis is accepted");
    const array v = vectors[i].dtype() == bool_ ? flatnonzero(vectors[i], s) : vectors[i];
    Shape shape(vectors.size(), 1);
    shape[i] = v.shape(0);
    out.push_back(reshape(v, shape, s));
  }
  return out;
}

array ediff1d(const array& a, const std::optional<array>& end, const std::optional<array>& begin,
              StreamOrDevice s) {
  std::vector<array> parts{diff(flatten(a, s), 1, 0, s)};
  const Dtype t = parts[0].dtype();
  if (begin) parts.insert(parts.begin(), flatten(astype(*begin, t, s), s));
  if (end) parts.push_back(flatten(astype(*end, t, s), s));
  return concatenate(parts, 0, s);
}

array array_equiv(const array& a, const array& b, StreamOrDevice s) {
  const size_t n = std::min(a.ndim(), b.ndim());
  for (size_t i = 1; i <= n; ++i) {
    const int axis = -static_cast<int>(i);
    if (a.shape(axis) != b.shape(axis) && a.shape(axis) != 1 && b.shape(axis) != 1)
      return constant(0, bool_);
  }
  return all(equal(a, b, s), s);
}

array choose(const array& index, const std::vector<array>& choices, bool wraps, StreamOrDevice s) {
  require_some("choose", choices);
  if (is_inexact(index.dtype()))
    fail("choose", "indices of dtype ", dtype_name(index.dtype()), "; integers are accepted");
  const auto n = static_cast<int64_t>(choices.size());
  const array given = astype(index, int64, s), last = array(n - 1, int64);
  const array at = wraps ? remainder(given, array(n, int64), s)
                         : minimum(maximum(given, constant(0, int64), s), last, s);
  array out = choices.back();
  for (int64_t i = n - 1; i-- > 0;) out = where(equal(at, array(i, int64), s), choices[i], out, s);
  return n > 1 ? out : broadcast_to(out, broadcast_shapes(out.shape(), index.shape(), "choose"), s);
}

array matvec(const array& a, const array& b, StreamOrDevice s) {
  require_axes("matvec", a, 2);
  require_axes("matvec", b, 1);
  return squeeze(matmul(a, expand_dims(b, -1, s), s), -1, s);
}
array vecmat(const array& a, const array& b, StreamOrDevice s) {
  require_axes("vecmat", a, 1);
  require_axes("vecmat", b, 2);
  const array row = is_complex(a.dtype()) ? conjugate(a, s) : a;
  return squeeze(matmul(expand_dims(row, -2, s), b, s), -2, s);
}

}  // namespace mlx::core
