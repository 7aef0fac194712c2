// Checks, dtypes and rules of rotary position embedding.
#include "mlx/ops/rope.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/composite.h"

namespace mlx::core {

namespace {

array rope_node(const array& x, const array& offset, const array& freqs, const RopeAttrs& attrs,
                Stream s) {
  Arrays inputs{x, offset};
  if (attrs.has_freqs) inputs.push_back(freqs);
  return make_node(op_rope, x.shape(), x.dtype(), s, inputs, make_attrs(attrs));
}

void check_input(const array& x, int dims) {
  if (x.ndim() < 3)
    fail<ValueError>("rope", "an input of shape ", to_string(x.shape()),
                     "; at least three axes are needed: batch, positions, features");
  if (!is_floating(x.dtype()))
    fail<ValueError>("rope", "dtype ", dtype_name(x.dtype()), "; floating dtypes are accepted");
  if (dims <= 0 || dims % 2 != 0 || dims > x.shape(-1))
    fail<ValueError>("rope", "dims of ", dims, " for an input of shape ", to_string(x.shape()),
                     "; even, positive and at most the length of the last axis is accepted");
}

array checked_offset(const array& offset, const array& x, Stream s) {
  if (!issubdtype(offset.dtype(), integer))
    fail<ValueError>("rope", "an offset of dtype ", dtype_name(offset.dtype()),
                     "; integers are accepted");
  if (offset.ndim() > 1 ||
      (offset.size() != 1 && static_cast<int64_t>(offset.size()) != x.shape(0)))
    fail<ValueError>("rope", "an offset of shape ", to_string(offset.shape()),
                     " for an input of shape ", to_string(x.shape()),
                     "; a scalar or one offset a batch is accepted");
  return reshape(astype(offset, int32, s), {-1}, s);
}

/// The same computation in elementary ops, for derivatives and batching.
rules::Formula rope_formula(const RopeAttrs& attrs, Stream s) {
  return [attrs, s](const Arrays& in) {
    const array& x = in[0];
    Dtype t = x.dtype() == float64 ? float64 : float32;
    int half = attrs.dims / 2, rank = static_cast<int>(x.ndim());
    array rate = attrs.has_freqs ? divide(constant(1, t), astype(in[2], t, s), s)
                                 : exp(multiply(arange(int64_t{0}, int64_t{half}, int64_t{1}, t, s),
                                                constant(-std::log(attrs.base) / half, t), s),
                                       s);
    array positions = astype(arange(int64_t{0}, x.shape(-2), int64_t{1}, int32, s), t, s);
    Shape per_batch(rank, 1);
    per_batch[0] = in[1].shape(0);
    array start = reshape(astype(in[1], t, s), per_batch, s);
    array angle =
        multiply(multiply(add(expand_dims(positions, 1, s), start, s), constant(attrs.scale, t), s),
                 rate, s);
    array c = cos(angle, s), d = sin(angle, s);
    if (attrs.inverse) d = negative(d, s);
    array all = astype(x, t, s), a, b;
    array turned = split(all, Shape{attrs.dims}, -1, s)[0];
    Shape pairs(x.shape().begin(), x.shape().end() - 1);
    if (attrs.traditional) {
      pairs.push_back(half);
      pairs.push_back(2);
    } else {
      pairs.push_back(2);
      pairs.push_back(half);
    }
    int axis = attrs.traditional ? -1 : -2;
    array split_up = reshape(turned, pairs, s);
    a = take(split_up, 0, axis, s);
    b = take(split_up, 1, axis, s);
    array p = subtract(multiply(a, c, s), multiply(b, d, s), s);
    array q = add(multiply(a, d, s), multiply(b, c, s), s);
    array out = reshape(stack({p, q}, axis, s), turned.shape(), s);
    if (attrs.dims < x.shape(-1))
      out = concatenate({out, split(all, Shape{attrs.dims}, -1, s)[1]}, -1, s);
    return Arrays{astype(out, x.dtype(), s)};
  };
}

Arrays build_rope(const Arrays& in, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<RopeAttrs>(a);
  check_input(in[0], attrs.dims);
  return {rope_node(in[0], checked_offset(in[1], in[0], s), attrs.has_freqs ? in[2] : array(),
                    attrs, s)};
}

Arrays rope_vjp(const RuleArgs& r) {
  RopeAttrs attrs = attrs_as<RopeAttrs>(r.attrs);
  Arrays out(r.inputs.size());
  if (attrs.has_freqs && r.requested[2]) {
    out = rules::formula_vjp(rope_formula(attrs, r.stream), r);
  } else if (r.requested[0]) {
    attrs.inverse = !attrs.inverse;
    out[0] = rope_node(r.grads[0], r.inputs[1], attrs.has_freqs ? r.inputs[2] : array(), attrs,
                       r.stream);
  }
  return out;
}

Arrays rope_jvp(const RuleArgs& r) {
  const auto& attrs = attrs_as<RopeAttrs>(r.attrs);
  if (attrs.has_freqs && r.grads[2]) return rules::formula_jvp(rope_formula(attrs, r.stream), r);
  if (!r.grads[0]) return {array()};
  return {
      rope_node(r.grads[0], r.inputs[1], attrs.has_freqs ? r.inputs[2] : array(), attrs, r.stream)};
}

rules::Batched rope_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<RopeAttrs>(a);
  if (attrs.has_freqs && axes[2] >= 0) return rules::formula_vmap(rope_formula(attrs, s), in, axes);
  int64_t n = rules::batch_size(in, axes);
  array x = rules::with_batch(in[0], axes[0], n, s), offset = in[1];
  int64_t batch = x.shape(1);
  Shape shape = x.shape();
  if (offset.size() > 1 || axes[1] >= 0) {
    offset = rules::with_batch(offset, axes[1], n, s);
    offset = reshape(broadcast_to(offset, {n, batch}, s), {-1}, s);
  }
  array out = rope_node(flatten(x, 0, 1, s), offset, attrs.has_freqs ? in[2] : array(), attrs, s);
  return {{reshape(out, shape, s)}, {0}};
}

}  // namespace

constinit const OpDef op_rope{.name = "rope",
                              .kind = OpKind::kernel,
                              .build = build_rope,
                              .vjp = rope_vjp,
                              .jvp = rope_jvp,
                              .vmap = rope_vmap};

namespace fast {

array rope(const array& x, int dims, bool traditional, std::optional<double> base, double scale,
           const array& offset, const std::optional<array>& freqs, StreamOrDevice stream) {
  check_input(x, dims);
  if (base.has_value() == freqs.has_value())
    fail<ValueError>("rope", base ? "both base and freqs" : "neither base nor freqs",
                     "; one of the two is accepted");
  if (freqs && (freqs->ndim() != 1 || freqs->shape(0) != dims / 2))
    fail<ValueError>("rope", "freqs of shape ", to_string(freqs->shape()), "; shape (", dims / 2,
                     ",) is accepted");
  Stream s = to_stream(stream);
  Dtype t = x.dtype() == float64 ? float64 : float32;
  RopeAttrs attrs{dims, traditional, base.value_or(0), scale, freqs.has_value(), false};
  return rope_node(x, checked_offset(offset, x, s), freqs ? astype(*freqs, t, s) : array(), attrs,
                   s);
}

array rope(const array& x, int dims, bool traditional, std::optional<double> base, double scale,
           int offset, const std::optional<array>& freqs, StreamOrDevice s) {
  return rope(x, dims, traditional, base, scale, array(offset), freqs, s);
}

}  // namespace fast

}  // namespace mlx::core
