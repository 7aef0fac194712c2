// Checks, dtypes and rules of scaled dot product attention.
#include "mlx/ops/attention.h"

#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/composite.h"

namespace mlx::core {

namespace {

constexpr const char* kName = "scaled_dot_product_attention";

void check_shapes(const array& q, const array& k, const array& v) {
  for (const array* x : {&q, &k, &v})
    if (x->ndim() != 4)
      fail<ValueError>(kName, "an input of shape ", to_string(x->shape()),
                       "; four axes are accepted: batch, heads, positions, features");
  auto reject = [&](const char* what) {
    fail<ValueError>(kName, "queries, keys and values of shapes ", to_string(q.shape()), ", ",
                     to_string(k.shape()), " and ", to_string(v.shape()), "; ", what);
  };
  if (q.shape(0) != k.shape(0) || q.shape(0) != v.shape(0)) reject("one batch size is accepted");
  if (q.shape(3) != k.shape(3)) reject("queries and keys of one length are accepted");
  if (k.shape(1) != v.shape(1) || k.shape(2) != v.shape(2))
    reject("keys and values of the same heads and positions are accepted");
  if (k.shape(1) == 0 ? q.shape(1) != 0 : q.shape(1) % k.shape(1) != 0)
    reject("a multiple of the key heads is accepted as query heads");
}

double lowest(Dtype t) {
  return t == float16    ? -65504.0
         : t == bfloat16 ? -0x1.fep127
         : t == float64  ? std::numeric_limits<double>::lowest()
                         : std::numeric_limits<float>::lowest();
}

/// Splits the head axis by key heads: (B, N, T, S) -> (B, M, N / M, T, S) and likewise.
array by_key_head(const array& x, int64_t heads, Stream s) {
  return unflatten(x, 1, {heads, heads ? x.shape(1) / heads : 1}, s);
}

/// The same computation in elementary ops, for derivatives and batching.
rules::Formula formula(const AttentionAttrs& attrs, Stream s) {
  return [attrs, s](const Arrays& in) {
    const array &q = in[0], &k = in[1], &v = in[2];
    Dtype t = q.dtype();
    int64_t heads = k.shape(1), length = k.shape(2);
    array scores = matmul(multiply(by_key_head(q, heads, s), constant(attrs.scale, t), s),
                          swapaxes(expand_dims(k, 2, s), -1, -2, s), s);
    auto keep = [&](const array& seen) { scores = where(seen, scores, constant(lowest(t), t), s); };
    if (attrs.causal) {
      array row = arange(int64_t{0}, q.shape(2), int64_t{1}, int32, s);
      array column = arange(int64_t{0}, length, int64_t{1}, int32, s);
      array last = add(row, array(static_cast<int>(length - q.shape(2))), s);
      keep(greater_equal(expand_dims(last, 1, s), column, s));
    } else if (attrs.has_mask) {
      array mask = by_key_head(in[3], heads, s);
      if (mask.dtype() == bool_)
        keep(mask);
      else
        scores = add(scores, mask, s);
    }
    if (attrs.has_sinks) {
      array sinks = reshape(in[3 + attrs.has_mask], {1, heads, -1, 1, 1}, s);
      Shape shape = scores.shape();
      shape.back() = 1;
      scores = concatenate({broadcast_to(sinks, shape, s), scores}, -1, s);
    }
    array weights = softmax(scores, -1, true, s);
    if (attrs.has_sinks) weights = split(weights, Shape{1}, -1, s)[1];
    return Arrays{flatten(matmul(weights, expand_dims(v, 2, s), s), 1, 2, s)};
  };
}

array attend(const Arrays& in, const AttentionAttrs& attrs, Stream s) {
  if (in[0].dtype() == float64) return formula(attrs, s)(in)[0];
  Shape shape = in[0].shape();
  shape.back() = in[2].shape(-1);
  return make_node(op_attention, std::move(shape), in[0].dtype(), s, in, make_attrs(attrs));
}

Arrays build_attention(const Arrays& in, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<AttentionAttrs>(a);
  check_shapes(in[0], in[1], in[2]);
  Arrays inputs = in;
  if (attrs.has_mask)
    inputs[3] =
        broadcast_to(in[3], {in[0].shape(0), in[0].shape(1), in[0].shape(2), in[1].shape(2)}, s);
  return {attend(inputs, attrs, s)};
}

Arrays attention_vjp(const RuleArgs& r) {
  return rules::formula_vjp(formula(attrs_as<AttentionAttrs>(r.attrs), r.stream), r);
}
Arrays attention_jvp(const RuleArgs& r) {
  return rules::formula_jvp(formula(attrs_as<AttentionAttrs>(r.attrs), r.stream), r);
}

rules::Batched attention_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a,
                              Stream s) {
  const auto& attrs = attrs_as<AttentionAttrs>(a);
  if (attrs.has_sinks && axes.back() >= 0) return rules::formula_vmap(formula(attrs, s), in, axes);
  int64_t n = rules::batch_size(in, axes), batch = in[0].shape(axes[0] == 0 ? 1 : 0);
  Arrays merged = in;
  for (int i = 0; i < 3 + attrs.has_mask; ++i)
    merged[i] = flatten(rules::with_batch(in[i], axes[i], n, s), 0, 1, s);
  return {{unflatten(attend(merged, attrs, s), 0, {n, batch}, s)}, {0}};
}

}  // namespace

constinit const OpDef op_attention{.name = "scaled_dot_product_attention",
                                   .kind = OpKind::kernel,
                                   .build = build_attention,
                                   .vjp = attention_vjp,
                                   .jvp = attention_jvp,
                                   .vmap = attention_vmap};

namespace fast {

array scaled_dot_product_attention(const array& queries, const array& keys, const array& values,
                                   double scale, const std::string& mask_mode,
                                   std::optional<array> mask_arr, const std::optional<array>& sinks,
                                   bool force_fused, StreamOrDevice stream) {
  check_shapes(queries, keys, values);
  Dtype t = promote_types(promote_types(queries.dtype(), keys.dtype()), values.dtype());
  if (!is_floating(t))
    fail<ValueError>(kName, "dtype ", dtype_name(t), "; floating dtypes are accepted");
  if (!mask_mode.empty() && mask_mode != "causal" && mask_mode != "array")
    fail<ValueError>(kName, "the mask '", mask_mode, "'; 'causal' or an array is accepted");
  if (mask_arr && mask_mode == "causal")
    fail<ValueError>(kName, "both a mask array and 'causal'; one of the two is accepted");
  Stream s = to_stream(stream);
  if (force_fused && (s.device.type != Device::gpu || t == float64))
    fail<ValueError>(kName, "force_fused with ", dtype_name(t), " on ", to_string(s.device),
                     "; float16, bfloat16 and float32 on a GPU are accepted");
  AttentionAttrs attrs{scale, mask_mode == "causal", mask_arr.has_value(), sinks.has_value()};
  Arrays inputs{astype(queries, t, s), astype(keys, t, s), astype(values, t, s)};
  if (mask_arr) {
    Shape full{queries.shape(0), queries.shape(1), queries.shape(2), keys.shape(2)};
    if (mask_arr->ndim() > 4 || broadcast_shapes(mask_arr->shape(), full, kName) != full)
      fail<ValueError>(kName, "a mask of shape ", to_string(mask_arr->shape()),
                       "; what broadcasts to ", to_string(full), " is accepted");
    if (promote_types(mask_arr->dtype(), t) != t)
      fail<ValueError>(kName, "a mask of dtype ", dtype_name(mask_arr->dtype()),
                       " for inputs of dtype ", dtype_name(t),
                       "; bool and that dtype are accepted");
    bool kept = mask_arr->dtype() == bool_;
    inputs.push_back(broadcast_to(kept ? *mask_arr : astype(*mask_arr, t, s), full, s));
  }
  if (sinks) {
    if (sinks->ndim() != 1 || sinks->shape(0) != queries.shape(1))
      fail<ValueError>(kName, "sinks of shape ", to_string(sinks->shape()), "; shape (",
                       queries.shape(1), ",) is accepted");
    if (promote_types(sinks->dtype(), t) != t)
      fail<ValueError>(kName, "sinks of dtype ", dtype_name(sinks->dtype()),
                       " for inputs of dtype ", dtype_name(t), "; that dtype is accepted");
    inputs.push_back(astype(*sinks, t, s));
  }
  return attend(inputs, attrs, s);
}

}  // namespace fast

}  // namespace mlx::core
