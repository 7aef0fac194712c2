// Checks, shapes and layouts of the view ops.
#include "mlx/ops/view.h"

#include <numeric>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/reduce.h"

namespace mlx::core {

namespace {

using Axes = SmallVector<int, 8>;

// --- reshape and its relatives -------------------------------------------------------------------

/// Replaces the -1 in `shape`; throws if it does not hold `size` elements.
Shape inferred(const char* op, Shape shape, int64_t size, const Shape& given) {
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
    } else if (shape[i] < 0) {
      fail<ValueError>(op, "shape ", to_string(shape),
                       "; lengths from 0 up and at most one -1 are accepted");
    }
  }
  bool overflow = false;
  for (int64_t n : shape)
    if (n != -1) overflow |= __builtin_mul_overflow(known, n, &known) && size != 0;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) known = 0;
  if (unknown >= 0 && known == 0)
    fail<ValueError>(op, "shape ", to_string(shape),
                     ": its -1 could be any length; a shape without -1 is accepted here");
  if (unknown >= 0) {
    shape[unknown] = size / known;
    known *= shape[unknown];
  }
  if (overflow || known != size)
    fail<ValueError>(op, "an array of shape ", to_string(given), " (", size, " elements) to shape ",
                     to_string(shape), "; the numbers of elements must agree");
  return shape;
}

bool reshape_layout(const Node& node, const Layout& in, Layout& out) {
  out.offset = in.offset;
  return reshape_strides(in.shape, in.strides, node.shape, out.strides);
}

/// If the lengths other than 1 are equal in order, axes are only inserted and dropped.
bool reshape_permutes(const Node& node, Axes& from) {
  const Shape& in = node.inputs()[0]->shape;
  size_t k = 0;
  for (int64_t n : node.shape) {
    if (n == 1) {
      from.push_back(-1);
      continue;
    }
    while (k < in.size() && in[k] == 1) ++k;
    if (k == in.size() || in[k] != n) return false;
    from.push_back(static_cast<int>(k++));
  }
  while (k < in.size() && in[k] == 1) ++k;
  return k == in.size();
}

Arrays build_reshape(const Arrays& in, const Attrs* attrs, Stream s) {
  return {reshape(in[0], attrs_as<ReshapeAttrs>(attrs).shape, s)};
}
Arrays build_flatten(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<FlattenAttrs>(attrs);
  return {flatten(in[0], a.start, a.end, s)};
}
Arrays build_unflatten(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<UnflattenAttrs>(attrs);
  return {unflatten(in[0], a.axis, a.shape, s)};
}
std::vector<int> as_ints(const Shape& axes) { return std::vector<int>(axes.begin(), axes.end()); }
Arrays build_squeeze(const Arrays& in, const Attrs* attrs, Stream s) {
  return {squeeze(in[0], as_ints(attrs_as<AxesAttrs>(attrs).axes), s)};
}
Arrays build_expand_dims(const Arrays& in, const Attrs* attrs, Stream s) {
  return {expand_dims(in[0], as_ints(attrs_as<AxesAttrs>(attrs).axes), s)};
}

// --- transpose -----------------------------------------------------------------------------------

Arrays build_transpose(const Arrays& in, const Attrs* attrs, Stream s) {
  return {transpose(in[0], attrs_as<TransposeAttrs>(attrs).axes, s)};
}
bool transpose_layout(const Node& node, const Layout& in, Layout& out) {
  out.offset = in.offset;
  out.strides.clear();
  for (int a : attrs_as<TransposeAttrs>(node.attrs.get()).axes)
    out.strides.push_back(in.strides[a]);
  return true;
}
bool transpose_permutes(const Node& node, Axes& from) {
  for (int a : attrs_as<TransposeAttrs>(node.attrs.get()).axes) from.push_back(a);
  return true;
}

// --- broadcast, as_strided, diagonal -------------------------------------------------------------

Arrays build_broadcast_to(const Arrays& in, const Attrs* attrs, Stream s) {
  return {broadcast_to(in[0], attrs_as<BroadcastAttrs>(attrs).shape, s)};
}
Arrays build_full(const Arrays& in, const Attrs* attrs, Stream s) {
  return {filled(in[0], attrs_as<BroadcastAttrs>(attrs).shape, s)};
}
bool broadcast_layout(const Node& node, const Layout& in, Layout& out) {
  out.offset = in.offset;
  out.strides = broadcast_strides(in.shape, in.strides, node.shape);
  return true;
}

Arrays build_as_strided(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<AsStridedAttrs>(attrs);
  return {as_strided(in[0], a.shape, a.strides, a.offset, s)};
}
bool as_strided_layout(const Node& node, const Layout& in, Layout& out) {
  if (!is_row_contiguous(in.shape, in.strides)) return false;
  auto& a = attrs_as<AsStridedAttrs>(node.attrs.get());
  out.strides = a.strides;
  out.offset = in.offset + a.offset;
  return true;
}

Arrays build_diagonal(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<DiagonalAttrs>(attrs);
  return {diagonal(in[0], a.offset, a.axis1, a.axis2, s)};
}
bool diagonal_layout(const Node& node, const Layout& in, Layout& out) {
  auto& a = attrs_as<DiagonalAttrs>(node.attrs.get());
  out.strides.clear();
  for (int i = 0; i < static_cast<int>(in.shape.size()); ++i)
    if (i != a.axis1 && i != a.axis2) out.strides.push_back(in.strides[i]);
  out.strides.push_back(in.strides[a.axis1] + in.strides[a.axis2]);
  out.offset = in.offset;
  if (node.shape.back() > 0)
    out.offset += a.offset >= 0 ? a.offset * in.strides[a.axis2] : -a.offset * in.strides[a.axis1];
  return true;
}

}  // namespace

constinit const OpDef op_reshape{.name = "reshape",
                                 .kind = OpKind::view,
                                 .linearity = Linearity::linear,
                                 .build = build_reshape,
                                 .view = reshape_layout,
                                 .permutes = reshape_permutes,
                                 .vjp = rules::reshape_vjp,
                                 .vmap = rules::reshape_vmap};
constinit const OpDef op_flatten{.name = "flatten",
                                 .kind = OpKind::view,
                                 .linearity = Linearity::linear,
                                 .shapeless = true,
                                 .build = build_flatten,
                                 .view = reshape_layout,
                                 .permutes = reshape_permutes,
                                 .vjp = rules::reshape_vjp,
                                 .vmap = rules::flatten_vmap};
constinit const OpDef op_unflatten{.name = "unflatten",
                                   .kind = OpKind::view,
                                   .linearity = Linearity::linear,
                                   .build = build_unflatten,
                                   .view = reshape_layout,
                                   .permutes = reshape_permutes,
                                   .vjp = rules::reshape_vjp,
                                   .vmap = rules::unflatten_vmap};
constinit const OpDef op_squeeze{.name = "squeeze",
                                 .kind = OpKind::view,
                                 .linearity = Linearity::linear,
                                 .shapeless = true,
                                 .build = build_squeeze,
                                 .view = reshape_layout,
                                 .permutes = reshape_permutes,
                                 .vjp = rules::reshape_vjp,
                                 .vmap = rules::squeeze_vmap};
constinit const OpDef op_expand_dims{.name = "expand_dims",
                                     .kind = OpKind::view,
                                     .linearity = Linearity::linear,
                                     .shapeless = true,
                                     .build = build_expand_dims,
                                     .view = reshape_layout,
                                     .permutes = reshape_permutes,
                                     .vjp = rules::reshape_vjp,
                                     .vmap = rules::expand_dims_vmap};
constinit const OpDef op_transpose{.name = "transpose",
                                   .kind = OpKind::view,
                                   .linearity = Linearity::linear,
                                   .shapeless = true,
                                   .build = build_transpose,
                                   .view = transpose_layout,
                                   .permutes = transpose_permutes,
                                   .vjp = rules::transpose_vjp,
                                   .vmap = rules::transpose_vmap};
constinit const OpDef op_broadcast_to{.name = "broadcast_to",
                                      .kind = OpKind::view,
                                      .linearity = Linearity::linear,
                                      .build = build_broadcast_to,
                                      .view = broadcast_layout,
                                      .vjp = rules::broadcast_to_vjp,
                                      .vmap = rules::broadcast_to_vmap};
// A filled array may be written to through an export.
constinit const OpDef op_full{.name = "full",
                              .kind = OpKind::view,
                              .linearity = Linearity::linear,
                              .distinct = true,
                              .build = build_full,
                              .view = broadcast_layout,
                              .vjp = rules::broadcast_to_vjp,
                              .vmap = rules::broadcast_to_vmap};
constinit const OpDef op_as_strided{.name = "as_strided",
                                    .kind = OpKind::view,
                                    .linearity = Linearity::linear,
                                    .build = build_as_strided,
                                    .view = as_strided_layout,
                                    .vjp = rules::as_strided_vjp,
                                    .vmap = rules::as_strided_vmap};
constinit const OpDef op_diagonal{.name = "diagonal",
                                  .kind = OpKind::view,
                                  .linearity = Linearity::linear,
                                  .shapeless = true,
                                  .build = build_diagonal,
                                  .view = diagonal_layout,
                                  .vjp = rules::diagonal_vjp,
                                  .vmap = rules::diagonal_vmap};

bool reshape_strides(const Shape& from, const Strides& strides, const Shape& to, Strides& out) {
  if (num_elements(from) == 0) {
    out = row_major(to);
    return true;
  }
  out = Strides(to.size(), 0);
  size_t i = 0, j = 0;
  // Groups of axes with the same product: the source axes of a group must be contiguous.
  while (true) {
    while (i < from.size() && from[i] == 1) ++i;
    if (i == from.size()) break;
    int64_t have = from[i], stride = strides[i], want = 1;
    size_t first = j;
    for (++i; j < to.size() && want < have; ++j) {
      want *= to[j];
      for (; want > have && i < from.size(); ++i) {
        if (from[i] == 1) continue;
        if (stride != strides[i] * from[i]) return false;
        have *= from[i];
        stride = strides[i];
      }
    }
    if (want != have) {
      // The group's remaining source axes follow.
      return false;
    }
    for (size_t k = j; k-- > first; stride *= to[k]) out[k] = stride;
  }
  return true;
}

array reshape(const array& a, Shape shape, StreamOrDevice s) {
  if (a.shape() == shape) return a;
  Shape result = inferred("reshape", shape, static_cast<int64_t>(a.size()), a.shape());
  if (result == a.shape()) return a;
  return make_node(op_reshape, std::move(result), a.dtype(), to_stream(s),
                   make_attrs(ReshapeAttrs{std::move(shape)}), a);
}

array flatten(const array& a, int start_axis, int end_axis, StreamOrDevice s) {
  int ndim = static_cast<int>(a.ndim());
  if (ndim == 0) return reshape(a, {1}, s);
  int start = std::max(0, start_axis < 0 ? start_axis + ndim : start_axis);
  int end = std::min(ndim - 1, end_axis < 0 ? end_axis + ndim : end_axis);
  if (start > end)
    fail<ValueError>("flatten", "axes ", start_axis, " to ", end_axis, " of an array with ", ndim,
                     " dimensions; a start axis up to the end axis is accepted");
  if (start == end) return a;
  Shape shape(a.shape().begin(), a.shape().begin() + start);
  shape.push_back(num_elements(Shape(a.shape().begin() + start, a.shape().begin() + end + 1)));
  shape.insert(shape.end(), a.shape().begin() + end + 1, a.shape().end());
  return make_node(op_flatten, std::move(shape), a.dtype(), to_stream(s),
                   make_attrs(FlattenAttrs{start, end}), a);
}
array flatten(const array& a, StreamOrDevice s) { return flatten(a, 0, -1, s); }

array unflatten(const array& a, int axis, Shape shape, StreamOrDevice s) {
  if (shape.empty())
    fail<ValueError>("unflatten", "an empty shape; at least one length is accepted");
  int at = normalize_axis(axis, a.ndim(), "unflatten");
  int64_t length = a.shape()[at];
  Shape parts = inferred("unflatten", shape, length, Shape{length});
  Shape result = a.shape();
  result.erase(result.begin() + at);
  result.insert(result.begin() + at, parts.begin(), parts.end());
  return make_node(op_unflatten, std::move(result), a.dtype(), to_stream(s),
                   make_attrs(UnflattenAttrs{at, std::move(shape)}), a);
}

array squeeze(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  if (axes.empty()) return a;
  std::vector<int> sorted = normalize_axes(axes, a.ndim(), "squeeze");
  for (int i : sorted)
    if (a.shape()[i] != 1)
      fail<ValueError>("squeeze", "axis ", i, " of shape ", to_string(a.shape()),
                       "; axes of length 1 are accepted");
  Shape shape;
  for (size_t i = 0, k = 0; i < a.ndim(); ++i) {
    if (k < sorted.size() && sorted[k] == static_cast<int>(i)) {
      ++k;
    } else {
      shape.push_back(a.shape()[i]);
    }
  }
  return make_node(op_squeeze, std::move(shape), a.dtype(), to_stream(s),
                   make_attrs(AxesAttrs{Shape(sorted.begin(), sorted.end())}), a);
}
array squeeze(const array& a, int axis, StreamOrDevice s) {
  return squeeze(a, std::vector<int>{axis}, s);
}
array squeeze(const array& a, StreamOrDevice s) {
  std::vector<int> axes;
  for (size_t i = 0; i < a.ndim(); ++i)
    if (a.shape()[i] == 1) axes.push_back(static_cast<int>(i));
  return squeeze(a, axes, s);
}

array expand_dims(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  if (axes.empty()) return a;
  size_t ndim = a.ndim() + axes.size();
  std::vector<int> sorted = normalize_axes(axes, ndim, "expand_dims");
  Shape shape;
  for (size_t i = 0, k = 0, from = 0; i < ndim; ++i) {
    bool fresh = k < sorted.size() && sorted[k] == static_cast<int>(i);
    k += fresh;
    shape.push_back(fresh ? 1 : a.shape()[from++]);
  }
  return make_node(op_expand_dims, std::move(shape), a.dtype(), to_stream(s),
                   make_attrs(AxesAttrs{Shape(sorted.begin(), sorted.end())}), a);
}
array expand_dims(const array& a, int axis, StreamOrDevice s) {
  return expand_dims(a, std::vector<int>{axis}, s);
}

array transpose(const array& a, std::vector<int> axes, StreamOrDevice s) {
  int ndim = static_cast<int>(a.ndim());
  if (static_cast<int>(axes.size()) != ndim)
    fail<ValueError>("transpose", axes.size(), " axes for an array with ", ndim,
                     " dimensions; each axis must be given once");
  Shape shape(ndim);
  SmallVector<bool, 8> seen(ndim, false);
  bool moves = false;
  for (int i = 0; i < ndim; ++i) {
    int& at = axes[i];
    at = normalize_axis(at, ndim, "transpose");
    if (std::exchange(seen[at], true))
      fail<ValueError>("transpose", "axis ", at, " is repeated; each axis must be given once");
    shape[i] = a.shape()[at];
    moves |= at != i;
  }
  if (!moves) return a;
  return make_node(op_transpose, std::move(shape), a.dtype(), to_stream(s),
                   make_attrs(TransposeAttrs{std::move(axes)}), a);
}
array transpose(const array& a, std::initializer_list<int> axes, StreamOrDevice s) {
  return transpose(a, std::vector<int>(axes), s);
}
array transpose(const array& a, StreamOrDevice s) {
  std::vector<int> axes(a.ndim());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return transpose(a, std::move(axes), s);
}
array matrix_transpose(const array& a, StreamOrDevice s) {
  if (a.ndim() < 2)
    fail<ValueError>("matrix_transpose", "an array with ", a.ndim(),
                     " dimensions; two or more are accepted");
  return swapaxes(a, -1, -2, s);
}

array swapaxes(const array& a, int axis1, int axis2, StreamOrDevice s) {
  int i = normalize_axis(axis1, a.ndim(), "swapaxes"),
      j = normalize_axis(axis2, a.ndim(), "swapaxes");
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[i], axes[j]);
  return transpose(a, std::move(axes), s);
}

array moveaxis(const array& a, int source, int destination, StreamOrDevice s) {
  int from = normalize_axis(source, a.ndim(), "moveaxis");
  int to = normalize_axis(destination, a.ndim(), "moveaxis");
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + to, from);
  return transpose(a, std::move(axes), s);
}

array broadcast_to(const array& a, const Shape& shape, StreamOrDevice s) {
  if (a.shape() == shape) return a;
  for (int64_t n : shape)
    if (n < 0)
      fail<ValueError>("broadcast_to", "shape ", to_string(shape),
                       "; lengths from 0 up are accepted");
  if (broadcast_shapes(a.shape(), shape, "broadcast_to") != shape)
    fail<ValueError>("broadcast_to", "an array of shape ", to_string(a.shape()), " to shape ",
                     to_string(shape), "; lengths must agree or be 1");
  num_elements(shape);  // throws if no array can have this shape
  return make_node(op_broadcast_to, shape, a.dtype(), to_stream(s),
                   make_attrs(BroadcastAttrs{shape}), a);
}

array filled(const array& a, const Shape& shape, StreamOrDevice s) {
  const array view = broadcast_to(a, shape, s);  // with its checks
  if (view.node() == a.node()) return a;
  return make_node(op_full, shape, a.dtype(), to_stream(s), make_attrs(BroadcastAttrs{shape}), a);
}

std::vector<array> broadcast_arrays(const std::vector<array>& inputs, StreamOrDevice s) {
  Shape shape;
  for (const array& a : inputs) shape = broadcast_shapes(shape, a.shape(), "broadcast_arrays");
  Arrays out;
  for (const array& a : inputs) out.push_back(broadcast_to(a, shape, s));
  return out;
}

array as_strided(array a, Shape shape, Strides strides, int64_t offset, StreamOrDevice s) {
  if (shape.size() != strides.size())
    fail<ValueError>("as_strided", shape.size(), " lengths and ", strides.size(),
                     " strides; as many of one as of the other are accepted");
  for (int64_t n : shape)
    if (n < 0)
      fail<ValueError>("as_strided", "shape ", to_string(shape),
                       "; lengths from 0 up are accepted");
  if (num_elements(shape) > 0) {
    __int128 low = offset, high = offset;
    for (size_t i = 0; i < shape.size(); ++i) {
      __int128 span = static_cast<__int128>(shape[i] - 1) * strides[i];
      (span < 0 ? low : high) += span;
    }
    if (low < 0 || high >= static_cast<__int128>(a.size()))
      fail<ValueError>("as_strided", "shape ", to_string(shape), " with strides ",
                       to_string(strides), " from ", offset, " leaves an array of ", a.size(),
                       " elements; every element must lie within it");
  } else {
    offset = 0;
  }
  return make_node(op_as_strided, shape, a.dtype(), to_stream(s),
                   make_attrs(AsStridedAttrs{shape, std::move(strides), offset}), a);
}

array diagonal(const array& a, int offset, int axis1, int axis2, StreamOrDevice s) {
  if (a.ndim() < 2)
    fail<ValueError>("diagonal", "an array with ", a.ndim(),
                     " dimensions; two or more are accepted");
  int i = normalize_axis(axis1, a.ndim(), "diagonal"),
      j = normalize_axis(axis2, a.ndim(), "diagonal");
  if (i == j) fail<ValueError>("diagonal", "axis ", i, " twice; two different axes are accepted");
  Shape shape;
  for (int k = 0; k < static_cast<int>(a.ndim()); ++k)
    if (k != i && k != j) shape.push_back(a.shape()[k]);
  const int64_t rows = a.shape()[i], columns = a.shape()[j];
  // All diagonals outside the matrix are empty, like the nearest one.
  const int64_t k = std::clamp<int64_t>(offset, -rows, columns);
  shape.push_back(std::min(rows + std::min<int64_t>(0, k), columns - std::max<int64_t>(0, k)));
  return make_node(op_diagonal, std::move(shape), a.dtype(), to_stream(s),
                   make_attrs(DiagonalAttrs{static_cast<int>(k), i, j}), a);
}

array trace(const array& a, int offset, int axis1, int axis2, Dtype dtype, StreamOrDevice s) {
  return sum(astype(diagonal(a, offset, axis1, axis2, s), dtype, s), -1, false, s);
}
array trace(const array& a, int offset, int axis1, int axis2, StreamOrDevice s) {
  return sum(diagonal(a, offset, axis1, axis2, s), -1, false, s);
}
array trace(const array& a, StreamOrDevice s) { return trace(a, 0, 0, 1, s); }

namespace {
template <class F>
Arrays map(const Arrays& arrays, F&& f) {
  Arrays out;
  for (const array& a : arrays) out.push_back(f(a));
  return out;
}
}  // namespace

array atleast_1d(const array& a, StreamOrDevice s) {
  return a.ndim() == 0 ? expand_dims(a, 0, s) : a;
}
array atleast_2d(const array& a, StreamOrDevice s) {
  return a.ndim() == 0 ? expand_dims(a, {0, 1}, s) : a.ndim() == 1 ? expand_dims(a, 0, s) : a;
}
array atleast_3d(const array& a, StreamOrDevice s) {
  switch (a.ndim()) {
    case 0:
      return expand_dims(a, {0, 1, 2}, s);
    case 1:
      return expand_dims(a, {0, 2}, s);
    case 2:
      return expand_dims(a, 2, s);
    default:
      return a;
  }
}
std::vector<array> atleast_1d(const std::vector<array>& a, StreamOrDevice s) {
  return map(a, [&](const array& x) { return atleast_1d(x, s); });
}
std::vector<array> atleast_2d(const std::vector<array>& a, StreamOrDevice s) {
  return map(a, [&](const array& x) { return atleast_2d(x, s); });
}
std::vector<array> atleast_3d(const std::vector<array>& a, StreamOrDevice s) {
  return map(a, [&](const array& x) { return atleast_3d(x, s); });
}

}  // namespace mlx::core
