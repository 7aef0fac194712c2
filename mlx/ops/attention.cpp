// Checks, dtypes and rules of scaled dot product attention.
#include "mlx/ops/attention.h"

#include <limits>

#include "mlx/backend/backend.h"
#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/composite.h"

namespace mlx::core {

namespace {

constexpr const char* kAttention = "scaled_dot_product_attention";

void check_shapes(const array& q, const array& k, const array& v) {
  for (const array* x : {&q, &k, &v})
    if (x->ndim() != 4)
      fail<ValueError>(kAttention, "an input of shape ", to_string(x->shape()),
                       "; four axes are accepted: batch, heads, positions, features");
  auto reject = [&](const char* what) {
    fail<ValueError>(kAttention, "queries, keys and values of shapes ", to_string(q.shape()), ", ",
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
rules::Formula attention_formula(const AttentionAttrs& attrs, Stream s) {
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
  if (in[0].dtype() == float64) return attention_formula(attrs, s)(in)[0];
  Shape shape = in[0].shape();
  shape.back() = in[2].shape(-1);
  return make_node(op_attention, std::move(shape), in[0].dtype(), s, in, make_attrs(attrs));
}

/// The inputs of `op_attention`, checked, with a mask for each head.
Arrays checked(Arrays in, const AttentionAttrs& attrs, Stream s) {
  check_shapes(in[0], in[1], in[2]);
  if (attrs.has_mask)
    in[3] =
        broadcast_to(in[3], {in[0].shape(0), in[0].shape(1), in[0].shape(2), in[1].shape(2)}, s);
  return in;
}

Arrays build_attention(const Arrays& in, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<AttentionAttrs>(a);
  return {attend(checked(in, attrs, s), attrs, s)};
}

/// Whether the stream's device has a kernel for the derivative of these inputs.
bool has_vjp_kernel(const Arrays& in, Stream s) {
  const Dtype t = in[0].dtype();
  if (backend_of(s.device).caps(s.device.index).whole_attention_vjp) return t != float64;
  constexpr int64_t kMostFeatures = 128;
  return (t == float16 || t == bfloat16) &&
         std::max(in[0].shape(3), in[2].shape(3)) <= kMostFeatures;
}

/// The cotangents through the formula, for derivatives of higher order and batched sinks.
rules::Formula vjp_formula(const AttentionAttrs& attrs, Stream s) {
  return [attrs, s](const Arrays& in) {
    const Arrays inputs(in.begin(), in.end() - 1), grads{in.back()}, outputs(1);
    std::vector<bool> requested(inputs.size());
    std::fill_n(requested.begin(), 3, true);
    Arrays out = rules::formula_vjp(attention_formula(attrs, s),
                                    {inputs, outputs, grads, nullptr, s, requested});
    out.resize(3);
    return out;
  };
}

Arrays attend_vjp(const Arrays& in, const AttentionAttrs& attrs, Stream s) {
  if (in[0].dtype() == float64) return vjp_formula(attrs, s)(in);
  return make_bundle(op_attention_vjp,
                     {{in[0].shape(), in[0].dtype()},
                      {in[1].shape(), in[1].dtype()},
                      {in[2].shape(), in[2].dtype()}},
                     s, in, make_attrs(attrs));
}

Arrays attention_vjp(const RuleArgs& r) {
  const auto& attrs = attrs_as<AttentionAttrs>(r.attrs);
  bool of_others = false;  // a mask, sinks
  for (size_t i = 3; i < r.inputs.size(); ++i)
    of_others = of_others || (r.requested[i] && is_inexact(r.inputs[i].dtype()));
  if (of_others || !has_vjp_kernel(r.inputs, r.stream))
    return rules::formula_vjp(attention_formula(attrs, r.stream), r);
  Arrays in = r.inputs;
  in.push_back(r.grads[0]);
  Arrays out = attend_vjp(in, attrs, r.stream);
  out.resize(r.inputs.size());
  return out;
}
Arrays attention_jvp(const RuleArgs& r) {
  return rules::formula_jvp(attention_formula(attrs_as<AttentionAttrs>(r.attrs), r.stream), r);
}

/// Inputs in the layout (batch, heads, positions, features) with the mapped axis in the batch;
/// sinks stay as they are.
Arrays merged_batches(const Arrays& in, const std::vector<int>& axes, const AttentionAttrs& attrs,
                      Stream s) {
  const int64_t n = rules::batch_size(in, axes);
  Arrays merged = in;
  for (size_t i = 0; i < in.size(); ++i)
    if (!attrs.has_sinks || i != size_t{3} + attrs.has_mask)
      merged[i] = flatten(rules::with_batch(in[i], axes[i], n, s), 0, 1, s);
  return merged;
}
bool maps_sinks(const std::vector<int>& axes, const AttentionAttrs& attrs) {
  return attrs.has_sinks && axes[3 + attrs.has_mask] >= 0;
}
rules::Batched split_batches(Arrays out, int64_t n, Stream s) {
  for (array& x : out) x = unflatten(x, 0, {n, n ? x.shape(0) / n : 0}, s);
  return {out, std::vector<int>(out.size(), 0)};
}

rules::Batched attention_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a,
                              Stream s) {
  const auto& attrs = attrs_as<AttentionAttrs>(a);
  if (maps_sinks(axes, attrs)) return rules::formula_vmap(attention_formula(attrs, s), in, axes);
  return split_batches({attend(merged_batches(in, axes, attrs, s), attrs, s)},
                       rules::batch_size(in, axes), s);
}

//--- the derivative

Arrays build_attention_vjp(const Arrays& in, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<AttentionAttrs>(a);
  Arrays inputs = checked(Arrays(in.begin(), in.end() - 1), attrs, s);
  Shape shape = in[0].shape();
  shape.back() = in[2].shape(-1);
  if (in.back().shape() != shape)
    fail<ValueError>(kAttention, "a cotangent of shape ", to_string(in.back().shape()), "; shape ",
                     to_string(shape), " is accepted");
  inputs.push_back(in.back());
  return attend_vjp(inputs, attrs, s);
}

Arrays attention_vjp_vjp(const RuleArgs& r) {
  return rules::formula_vjp(vjp_formula(attrs_as<AttentionAttrs>(r.attrs), r.stream), r);
}
Arrays attention_vjp_jvp(const RuleArgs& r) {
  return rules::formula_jvp(vjp_formula(attrs_as<AttentionAttrs>(r.attrs), r.stream), r);
}
rules::Batched attention_vjp_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a,
                                  Stream s) {
  const auto& attrs = attrs_as<AttentionAttrs>(a);
  if (maps_sinks(axes, attrs)) return rules::formula_vmap(vjp_formula(attrs, s), in, axes);
  return split_batches(attend_vjp(merged_batches(in, axes, attrs, s), attrs, s),
                       rules::batch_size(in, axes), s);
}

}  // namespace

constinit const OpDef op_attention{.name = "scaled_dot_product_attention",
                                   .kind = OpKind::kernel,
                                   .build = build_attention,
                                   .vjp = attention_vjp,
                                   .jvp = attention_jvp,
                                   .vmap = attention_vmap};

constinit const OpDef op_attention_vjp{.name = "scaled_dot_product_attention_vjp",
                                       .kind = OpKind::bundle,
                                       .build = build_attention_vjp,
                                       .vjp = attention_vjp_vjp,
                                       .jvp = attention_vjp_jvp,
                                       .vmap = attention_vjp_vmap};

namespace fast {

array scaled_dot_product_attention(const array& queries, const array& keys, const array& values,
                                   double scale, const std::string& mask_mode,
                                   std::optional<array> mask_arr, const std::optional<array>& sinks,
                                   bool force_fused, StreamOrDevice stream) {
  check_shapes(queries, keys, values);
  Dtype t = promote_types(promote_types(queries.dtype(), keys.dtype()), values.dtype());
  if (!is_floating(t))
    fail<ValueError>(kAttention, "dtype ", dtype_name(t), "; floating dtypes are accepted");
  if (!mask_mode.empty() && mask_mode != "causal" && mask_mode != "array")
    fail<ValueError>(kAttention, "the mask '", mask_mode, "'; 'causal' or an array is accepted");
  if (mask_arr && mask_mode == "causal")
    fail<ValueError>(kAttention, "both a mask array and 'causal'; one of the two is accepted");
  Stream s = to_stream(stream);
  if (force_fused && (s.device.type != Device::gpu || t == float64))
    fail<ValueError>(kAttention, "force_fused with ", dtype_name(t), " on ", to_string(s.device),
                     "; float16, bfloat16 and float32 on a GPU are accepted");
  AttentionAttrs attrs{scale, mask_mode == "causal", mask_arr.has_value(), sinks.has_value(),
                       t == float32 ? matmul_precision() : Precision::highest};
  Arrays inputs{astype(queries, t, s), astype(keys, t, s), astype(values, t, s)};
  if (mask_arr) {
    Shape full{queries.shape(0), queries.shape(1), queries.shape(2), keys.shape(2)};
    if (mask_arr->ndim() > 4 || broadcast_shapes(mask_arr->shape(), full, kAttention) != full)
      fail<ValueError>(kAttention, "a mask of shape ", to_string(mask_arr->shape()),
                       "; what broadcasts to ", to_string(full), " is accepted");
    if (promote_types(mask_arr->dtype(), t) != t)
      fail<ValueError>(kAttention, "a mask of dtype ", dtype_name(mask_arr->dtype()),
                       " for inputs of dtype ", dtype_name(t),
                       "; bool and that dtype are accepted");
    bool kept = mask_arr->dtype() == bool_;
    inputs.push_back(broadcast_to(kept ? *mask_arr : astype(*mask_arr, t, s), full, s));
  }
  if (sinks) {
    if (sinks->ndim() != 1 || sinks->shape(0) != queries.shape(1))
      fail<ValueError>(kAttention, "sinks of shape ", to_string(sinks->shape()), "; shape (",
                       queries.shape(1), ",) is accepted");
    if (promote_types(sinks->dtype(), t) != t)
      fail<ValueError>(kAttention, "sinks of dtype ", dtype_name(sinks->dtype()),
                       " for inputs of dtype ", dtype_name(t), "; that dtype is accepted");
    inputs.push_back(astype(*sinks, t, s));
  }
  return attend(inputs, attrs, s);
}

}  // namespace fast

}  // namespace mlx::core
