// Checks and rules of layer_norm and rms_norm.
#include "mlx/ops/norm.h"

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/composite.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

void check_parameter(const char* op, const char* name, const array& p, const array& x) {
  if (p.ndim() != 1 || p.shape(0) != x.shape(-1))
    fail<ValueError>(op, name, " of shape ", to_string(p.shape()), " for an input of shape ",
                     to_string(x.shape()), "; ", name, " of shape (", x.shape(-1),
                     ",) is accepted");
}

array normalize(const char* op, const array& x, const std::optional<array>& weight,
                const std::optional<array>& bias, NormAttrs attrs, StreamOrDevice stream) {
  if (x.ndim() == 0) fail<ValueError>(op, "a scalar; an input with at least one axis is accepted");
  if (weight) check_parameter(op, "weight", *weight, x);
  if (bias) check_parameter(op, "bias", *bias, x);
  Dtype t = x.dtype();
  if (weight) t = promote_types(t, weight->dtype());
  if (weight && bias) t = promote_types(t, bias->dtype());
  if (!is_floating(t))
    fail<ValueError>(op, "dtype ", dtype_name(t), "; floating dtypes are accepted");
  Stream s = to_stream(stream);
  Arrays inputs{astype(x, t, s)};
  if (weight) inputs.push_back(astype(*weight, t, s));
  if (bias) inputs.push_back(astype(*bias, t, s));
  return make_node(op_norm, x.shape(), t, s, inputs, make_attrs(attrs));
}

Arrays build_norm(const Arrays& in, const Attrs* a, Stream s) {
  const NormAttrs& attrs = attrs_as<NormAttrs>(a);
  std::optional<array> weight, bias;
  if (attrs.has_weight) weight = in[1];
  if (attrs.has_bias) bias = in[1 + attrs.has_weight];
  const char* op = attrs.center ? "layer_norm" : "rms_norm";
  return {normalize(op, in[0], weight, bias, attrs, s)};
}

/// The same computation in elementary ops, for derivatives and batching.
rules::Formula composite(const NormAttrs& attrs, Stream s) {
  return [attrs, s](const Arrays& in) {
    Dtype t = in[0].dtype();
    array x = t.size() < 4 ? astype(in[0], float32, s) : in[0];
    if (attrs.center) x = subtract(x, mean(x, -1, true, s), s);
    array scale = rsqrt(add(mean(square(x, s), -1, true, s), constant(attrs.eps, x.dtype()), s), s);
    array y = astype(multiply(x, scale, s), t, s);
    if (attrs.has_weight) y = multiply(y, in[1], s);
    if (attrs.has_bias) y = add(y, in[1 + attrs.has_weight], s);
    return Arrays{y};
  };
}

Arrays norm_vjp(const RuleArgs& args) {
  return rules::formula_vjp(composite(attrs_as<NormAttrs>(args.attrs), args.stream), args);
}

Arrays norm_jvp(const RuleArgs& args) {
  return rules::formula_jvp(composite(attrs_as<NormAttrs>(args.attrs), args.stream), args);
}

std::pair<Arrays, std::vector<int>> norm_vmap(const Arrays& in, const std::vector<int>& axes,
                                              const Attrs* a, Stream s) {
  Arrays moved = in;
  bool shared = true;
  for (size_t k = 0; k < in.size(); ++k)
    if (axes[k] >= 0) moved[k] = moveaxis(in[k], axes[k], 0, s);
  for (size_t k = 1; k < in.size(); ++k) shared = shared && axes[k] < 0;
  if (shared) return {build_norm(moved, a, s), {0}};
  return rules::formula_vmap(composite(attrs_as<NormAttrs>(a), s), in, axes);
}

}  // namespace

constinit const OpDef op_norm{.name = "norm",
                              .kind = OpKind::kernel,
                              .shapeless = true,
                              .build = build_norm,
                              .vjp = norm_vjp,
                              .jvp = norm_jvp,
                              .vmap = norm_vmap};

namespace fast {

array rms_norm(const array& x, const std::optional<array>& weight, double eps, StreamOrDevice s) {
  return normalize("rms_norm", x, weight, {}, {eps, false, weight.has_value(), false}, s);
}

array layer_norm(const array& x, const std::optional<array>& weight,
                 const std::optional<array>& bias, double eps, StreamOrDevice s) {
  return normalize("layer_norm", x, weight, bias, {eps, true, weight.has_value(), bias.has_value()},
                   s);
}

}  // namespace fast

}  // namespace mlx::core
