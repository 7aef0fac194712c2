// Checks, shapes and rules of the gated delta rule.
#include "mlx/ops/delta.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/composite.h"

namespace mlx::core {

namespace {

constexpr const char* kDelta = "gated_delta_update";

void check_shape(const char* what, const array& x, const Shape& shape) {
  if (x.shape() != shape)
    fail<ValueError>(kDelta, what, " of shape ", to_string(x.shape()), "; shape ", to_string(shape),
                     " is accepted");
}

void check_delta_shapes(const Arrays& in) {
  const array &q = in[0], &k = in[1], &v = in[2], &g = in[3];
  if (q.ndim() != 4 || v.ndim() != 4)
    fail<ValueError>(kDelta, "queries and values of shapes ", to_string(q.shape()), " and ",
                     to_string(v.shape()),
                     "; four axes are accepted: batch, positions, heads, features");
  int64_t b = q.shape(0), t = q.shape(1), heads = q.shape(2), d = q.shape(3), n = v.shape(2);
  check_shape("keys", k, q.shape());
  if (heads == 0 ? n != 0 : n % heads != 0)
    fail<ValueError>(kDelta, n, " value heads for ", heads, " key heads; a multiple is accepted");
  check_shape("values", v, {b, t, n, v.shape(3)});
  check_shape("gates", g, g.ndim() == 4 ? Shape{b, t, n, d} : Shape{b, t, n});
  check_shape("beta", in[4], {b, t, n});
  check_shape("a state", in[5], {b, n, v.shape(3), d});
  if (in.size() > 6) check_shape("a mask", in[6], {b, t});
}

Arrays delta_node(const Arrays& in, Stream s) {
  check_delta_shapes(in);
  return make_bundle(op_gated_delta,
                     {{in[2].shape(), in[2].dtype()}, {in[5].shape(), in[5].dtype()}}, s, in);
}

Arrays build_delta(const Arrays& in, const Attrs*, Stream s) { return delta_node(in, s); }

/// The recurrence in elementary ops, position by position.
rules::Formula delta_formula(Stream s) {
  return [s](const Arrays& in) {
    int64_t heads = in[0].shape(2), n = in[2].shape(2), length = in[0].shape(1);
    auto per_value = [&](const array& x) {  // (B, N, D) of (B, M, D)
      return heads == n ? x : repeat(x, static_cast<int>(n / heads), 1, s);
    };
    array state = in[5];
    Arrays ys;
    for (int64_t t = 0; t < length; ++t) {
      auto now = [&](int i) { return take(in[i], t, 1, s); };
      array q = expand_dims(per_value(now(0)), 2, s), k = expand_dims(per_value(now(1)), 2, s);
      array gate = expand_dims(now(3), 2, s);
      if (in[3].ndim() == 3) gate = expand_dims(gate, 3, s);
      array next = multiply(state, gate, s);
      array error = subtract(now(2), sum(multiply(next, k, s), -1, false, s), s);
      array step = multiply(error, expand_dims(now(4), 2, s), s);
      next = add(next, multiply(expand_dims(step, 3, s), k, s), s);
      array y = sum(multiply(next, q, s), -1, false, s);
      if (in.size() > 6) {
        array keep = expand_dims(now(6), std::vector<int>{1, 2}, s);
        y = where(keep, y, rules::zero(y.dtype()), s);
        next = where(expand_dims(keep, 3, s), next, state, s);
      }
      state = next;
      ys.push_back(y);
    }
    array y = ys.empty() ? in[2] : stack(ys, 1, s);
    return Arrays{y, state};
  };
}

Arrays delta_vjp(const RuleArgs& r) { return rules::formula_vjp(delta_formula(r.stream), r); }
Arrays delta_jvp(const RuleArgs& r) { return rules::formula_jvp(delta_formula(r.stream), r); }

rules::Batched delta_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs*, Stream s) {
  int64_t n = rules::batch_size(in, axes);
  Arrays merged;
  for (size_t i = 0; i < in.size(); ++i)
    merged.push_back(flatten(rules::with_batch(in[i], axes[i], n, s), 0, 1, s));
  Arrays out = delta_node(merged, s);
  int64_t batch = n ? merged[0].shape(0) / n : 0;
  for (array& x : out) x = unflatten(x, 0, {n, batch}, s);
  return {out, {0, 0}};
}

}  // namespace

constinit const OpDef op_gated_delta{.name = "gated_delta_update",
                                     .kind = OpKind::bundle,
                                     .build = build_delta,
                                     .vjp = delta_vjp,
                                     .jvp = delta_jvp,
                                     .vmap = delta_vmap};

namespace fast {

std::vector<array> gated_delta_update(const array& queries, const array& keys, const array& values,
                                      const array& gates, const array& beta_,
                                      const std::optional<array>& initial_state,
                                      const std::optional<array>& mask, StreamOrDevice stream) {
  Stream s = to_stream(stream);
  Dtype t =
      at_least_float(promote_types(promote_types(queries.dtype(), keys.dtype()), values.dtype()));
  Dtype work = t == float64 ? float64 : float32;
  for (const array* x : {&queries, &keys, &values, &gates, &beta_})
    if (is_complex(x->dtype()))
      fail<ValueError>(kDelta, "dtype ", dtype_name(x->dtype()), "; real dtypes are accepted");
  Arrays in;
  for (const array* x : {&queries, &keys, &values, &gates, &beta_})
    in.push_back(astype(*x, work, s));
  if (initial_state) {
    in.push_back(astype(*initial_state, work, s));
  } else if (queries.ndim() == 4 && values.ndim() == 4) {
    in.push_back(
        zeros({queries.shape(0), values.shape(2), values.shape(3), queries.shape(3)}, work, s));
  } else {
    in.push_back(constant(0.0, work));
  }
  if (mask) in.push_back(astype(*mask, bool_, s));
  Arrays out = delta_node(in, s);
  return {astype(out[0], t, s), out[1]};
}

}  // namespace fast

}  // namespace mlx::core
