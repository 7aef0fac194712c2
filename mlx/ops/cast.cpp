// Checks and layouts of dtype conversions and bit reinterpretations.
#include "mlx/ops/cast.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

/// A view of bytes as the dtype of the attributes; for bool, the uint8 of which these are made.
array reread(const array& a, const ViewAttrs& attrs, Stream s);

Arrays build_cast(const Arrays& in, const Attrs* attrs, Stream s) {
  return {cast_to(in[0], attrs_as<CastAttrs>(attrs).dtype, s)};
}
Arrays build_copy(const Arrays& in, const Attrs*, Stream s) { return {copy(in[0], s)}; }
Arrays build_view(const Arrays& in, const Attrs* attrs, Stream s) {
  return {reread(in[0], attrs_as<ViewAttrs>(attrs), s)};
}
Arrays build_contiguous(const Arrays& in, const Attrs* attrs, Stream s) {
  return {contiguous(in[0], attrs_as<ContiguousAttrs>(attrs).allow_col_major, s)};
}
Arrays build_stop_gradient(const Arrays& in, const Attrs*, Stream s) {
  return {stop_gradient(in[0], s)};
}
Arrays build_depends(const Arrays& in, const Attrs*, Stream) {
  return depends({in[0]}, Arrays(in.begin() + 1, in.end()));
}

std::pair<Arrays, std::vector<int>> vmap_depends(const Arrays& in, const std::vector<int>& axes,
                                                 const Attrs* attrs, Stream s) {
  return {build_depends(in, attrs, s), {axes[0]}};
}

bool same_layout(const Node&, const Layout& in, Layout& out) {
  out.strides = in.strides;
  out.offset = in.offset;
  return true;
}
bool same_axes(const Node& node, SmallVector<int, 8>& from) {
  for (size_t i = 0; i < node.shape.size(); ++i) from.push_back(static_cast<int>(i));
  return true;
}

/// Viewing as a smaller dtype splits the elements of a dense last axis; viewing as a larger dtype
/// also requires every element to start at a multiple of the size.
bool view_layout(const Node& node, const Layout& in, Layout& out) {
  int64_t from = in.dtype.size(), to = node.dtype.size();
  out.strides = in.strides;
  if (from == to) {
    out.offset = in.offset;
    return true;
  }
  if (num_elements(in.shape) == 0) {
    out.strides = row_major(node.shape);
    out.offset = 0;
    return true;
  }
  if (in.strides.back() != 1 && in.shape.back() != 1) return false;
  int64_t up = std::max<int64_t>(1, to / from), down = std::max<int64_t>(1, from / to);
  if (in.offset % up) return false;
  for (size_t i = 0; i + 1 < in.shape.size(); ++i) {
    if (in.shape[i] != 1 && in.strides[i] % up) return false;
    out.strides[i] = in.strides[i] / up * down;
  }
  out.strides.back() = 1;
  out.offset = in.offset / up * down;
  return true;
}

bool contiguous_layout(const Node& node, const Layout& in, Layout& out) {
  bool fits = is_row_contiguous(in.shape, in.strides);
  if (!fits && attrs_as<ContiguousAttrs>(node.attrs.get()).allow_col_major)
    fits = is_row_contiguous(Shape(in.shape.rbegin(), in.shape.rend()),
                             Strides(in.strides.rbegin(), in.strides.rend()));
  return fits && same_layout(node, in, out);
}

void require_real_floating(const char* op, Dtype t) {
  if (!is_floating(t))
    fail<ValueError>(op, "dtype ", dtype_name(t), "; real floating ones are accepted");
}

}  // namespace

constinit const OpDef op_cast{.name = "cast",
                              .kind = OpKind::elementwise,
                              .build = build_cast,
                              .vjp = rules::cast_vjp,
                              .jvp = rules::cast_jvp,
                              .vmap = rules::cast_vmap};
constinit const OpDef op_copy{.name = "copy",
                              .kind = OpKind::elementwise,
                              .linearity = Linearity::linear,
                              .shapeless = true,
                              .build = build_copy,
                              .vjp = rules::identity_vjp,
                              .vmap = rules::copy_vmap};
constinit const OpDef op_view{.name = "view",
                              .kind = OpKind::view,
                              .shapeless = true,
                              .build = build_view,
                              .view = view_layout,
                              .vjp = rules::view_vjp,
                              .jvp = rules::view_jvp,
                              .vmap = rules::view_vmap};
constinit const OpDef op_contiguous{.name = "contiguous",
                                    .kind = OpKind::view,
                                    .linearity = Linearity::linear,
                                    .shapeless = true,
                                    .releases_memory = true,
                                    .build = build_contiguous,
                                    .view = contiguous_layout,
                                    .vjp = rules::identity_vjp,
                                    .vmap = rules::contiguous_vmap};
constinit const OpDef op_stop_gradient{.name = "stop_gradient",
                                       .kind = OpKind::view,
                                       .shapeless = true,
                                       .build = build_stop_gradient,
                                       .view = same_layout,
                                       .permutes = same_axes,
                                       .vjp = rules::stop_gradient_vjp,
                                       .jvp = rules::stop_gradient_jvp,
                                       .vmap = rules::stop_gradient_vmap};
constinit const OpDef op_depends{.name = "depends",
                                 .kind = OpKind::view,
                                 .linearity = Linearity::linear,
                                 .shapeless = true,
                                 .build = build_depends,
                                 .view = same_layout,
                                 .vjp = rules::identity_vjp,
                                 .vmap = vmap_depends};

namespace {

/// True for the elements of bool that `view` makes of bytes.
bool is_made_of_bytes(const Node& n) {
  if (n.status != Status::pending || n.dtype != bool_ || n.op->kind != OpKind::elementwise)
    return false;
  const Node* in = n.inputs().empty() ? nullptr : n.inputs()[0];
  return in && in->status == Status::pending && in->op == &op_view &&
         attrs_as<ViewAttrs>(in->attrs.get()).dtype == bool_;
}

array reread(const array& a, const ViewAttrs& attrs, Stream s) {
  const Dtype dtype = attrs.dtype == bool_ ? uint8 : attrs.dtype;
  Shape shape = a.shape();
  int64_t from = a.itemsize(), to = dtype.size();
  if (from != to) {
    if (shape.empty())
      fail<ValueError>("view", "a scalar of dtype ", dtype_name(a.dtype()), " as ",
                       dtype_name(dtype),
                       "; a scalar can be read as a dtype of the same size only");
    if (shape.back() * from % to)
      fail<ValueError>("view", "a last axis of ", shape.back() * from, " bytes as ",
                       dtype_name(dtype), "; a multiple of ", to, " bytes is accepted");
    shape.back() = shape.back() * from / to;
  }
  return make_node(op_view, std::move(shape), dtype, s, make_attrs(attrs), a);
}

/// The bytes of which elements of bool are made, as uint8, if no value of the elements has been
/// computed yet: `a` is what `view` returned, or a rearrangement of it. Else `a`.
array bytes_behind(const array& a) {
  std::vector<Node*> chain;
  Node* n = a.node();
  while (n->status == Status::pending && n->op->kind == OpKind::view && n->op != &op_view &&
         n->op->build && n->inputs().size() == 1) {
    chain.push_back(n);
    n = n->inputs()[0];
  }
  if (!is_made_of_bytes(*n)) return a;
  array bytes(n->inputs()[0]);
  for (; !chain.empty(); chain.pop_back()) {
    const Node& rearranged = *chain.back();
    bytes =
        rearranged.op->build({bytes}, rearranged.attrs.get(), stream_of(array(chain.back())))[0];
  }
  return bytes;
}

}  // namespace

array cast_to(const array& a, Dtype dtype, Stream s) {
  if (a.dtype() == dtype) return a;
  if (is_constant(a)) return constant(Scalar::convert(a.node()->scalar(), a.dtype(), dtype), dtype);
  return make_node(op_cast, a.shape(), dtype, s, make_attrs(CastAttrs{dtype}), a);
}

array astype(array a, Dtype dtype, StreamOrDevice s) {
  if (a.dtype() == dtype) return a;
  return cast_to(a, dtype, to_stream(s));
}

array view(const array& a, const Dtype& dtype, StreamOrDevice s) {
  if (a.dtype() == dtype) return a;
  const Stream stream = to_stream(s);
  // Elements of bool must be 0 or 1, but these bytes may have other values.
  if (dtype == bool_) return not_equal(reread(a, {bool_}, stream), constant(0.0, uint8), stream);
  return reread(a.dtype() == bool_ ? bytes_behind(a) : a, {dtype}, stream);
}

array from_parts(const array& real, const array& imag, StreamOrDevice s) {
  const Dtype t = real.dtype() == float64 ? complex128 : complex64;
  return squeeze(view(stack({real, imag}, -1, s), t, s), -1, s);
}

array copy(array a, StreamOrDevice s) {
  return make_node(op_copy, a.shape(), a.dtype(), to_stream(s), {}, a);
}

array contiguous(const array& a, bool allow_col_major, StreamOrDevice s) {
  return make_node(op_contiguous, a.shape(), a.dtype(), to_stream(s),
                   make_attrs(ContiguousAttrs{allow_col_major}), a);
}

array stop_gradient(const array& a, StreamOrDevice s) {
  if (is_constant(a)) return a;
  return make_node(op_stop_gradient, a.shape(), a.dtype(), to_stream(s), {}, a);
}

std::vector<array> depends(const std::vector<array>& inputs,
                           const std::vector<array>& dependencies) {
  Arrays out;
  for (const array& a : inputs) {
    Arrays list{a};
    list.insert(list.end(), dependencies.begin(), dependencies.end());
    out.push_back(make_node(op_depends, a.shape(), a.dtype(), stream_of(a), list));
  }
  return out;
}

array to_fp8(array x, StreamOrDevice stream) {
  require_real_floating("to_fp8", x.dtype());
  Stream s = to_stream(stream);
  array a = cast_to(x, float32, s);
  array sign = (view(a, uint32, s) >> 31) << 7;
  a = abs(a, s);
  // Normal numbers: keep 3 of the 23 mantissa bits, ties to even, and change the exponent's bias
  // from 127 to 7. The others are multiples of 2^-9.
  array bits = view(a, uint32, s);
  array normal = ((bits + 0x7ffff + ((bits >> 20) & array(1, uint32))) >> 20) - 960;
  array code = where(a < 0x1p-6, cast_to(rint(a * 512, s), uint32, s), normal, s);
  code = where(a >= 448, array(0x7e, uint32), code, s);
  code = where(isnan(a, s), array(0x7f, uint32), code, s);
  return cast_to(code | sign, uint8, s);
}

array from_fp8(array x, Dtype dtype, StreamOrDevice stream) {
  if (x.dtype() != uint8)
    fail<ValueError>("from_fp8", "an input of dtype ", dtype_name(x.dtype()),
                     "; uint8 is accepted");
  require_real_floating("from_fp8", dtype);
  Stream s = to_stream(stream);
  // The same bits as the upper part of a float16, whose exponent bias is larger by 8.
  array bits = cast_to(x, uint16, s), magnitude = bits & array(0x7f, uint16);
  array half = view(((bits & array(0x80, uint16)) << 8) | (magnitude << 7), float16, s);
  array value = where(magnitude == 0x7f, constant(NAN, float16), half * 256, s);
  return cast_to(value, dtype, s);
}

}  // namespace mlx::core
