// Checks and shapes of the CTC loss.
#include "mlx/ops/ctc.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

constexpr const char* kCtcLoss = "ctc_loss";

void check_ctc_inputs(const Arrays& in, int blank) {
  const array &x = in[0], &labels = in[1];
  if (x.ndim() != 3 || labels.ndim() != 2 || labels.shape(0) != x.shape(0))
    fail<ValueError>(kCtcLoss, "shapes ", to_string(x.shape()), " and ", to_string(labels.shape()),
                     "; (N, T, C) and (N, S) are accepted");
  if (x.shape(1) == 0)
    fail<ValueError>(kCtcLoss, "log_probs of no step; at least one step is accepted");
  for (size_t i : {2, 3})
    if (in[i].shape() != Shape{x.shape(0)})
      fail<ValueError>(kCtcLoss, "lengths of shape ", to_string(in[i].shape()), "; ",
                       to_string(Shape{x.shape(0)}), " is accepted");
  if (blank < 0 || blank >= x.shape(2))
    fail<ValueError>(kCtcLoss, "blank ", blank, " of ", x.shape(2), " classes; 0 to ",
                     x.shape(2) - 1, " are accepted");
}

Shape sums_shape(const Arrays& in) {
  return {in[0].shape(0), in[0].shape(1), 2 * in[1].shape(1) + 3};
}

Arrays build_ctc(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& a = attrs_as<CtcAttrs>(attrs);
  check_ctc_inputs(in, a.blank);
  const Dtype t = in[0].dtype();
  return make_bundle(op_ctc, {{{in[0].shape(0)}, t}, {sums_shape(in), t}}, s, in,
                     make_attrs(CtcAttrs(a)));
}

Arrays build_slope(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& a = attrs_as<CtcAttrs>(attrs);
  check_ctc_inputs(in, a.blank);
  return {make_node(op_ctc_slope, in[0].shape(), in[0].dtype(), s, std::span<const array>(in),
                    make_attrs(CtcAttrs(a)))};
}

}  // namespace

constinit const OpDef op_ctc{.name = "ctc_loss",
                             .kind = OpKind::bundle,
                             .build = build_ctc,
                             .vjp = rules::ctc_vjp,
                             .jvp = rules::ctc_jvp,
                             .vmap = rules::ctc_vmap};
constinit const OpDef op_ctc_slope{.name = "ctc_loss_vjp",
                                   .kind = OpKind::kernel,
                                   .build = build_slope,
                                   .vjp = rules::ctc_slope_vjp,
                                   .jvp = rules::ctc_slope_jvp,
                                   .vmap = rules::ctc_slope_vmap};

namespace fast {

array ctc_loss(const array& log_probs, const array& targets,
               const std::optional<array>& input_lengths,
               const std::optional<array>& target_lengths, int blank, StreamOrDevice stream) {
  if (!is_floating(log_probs.dtype()))
    fail<ValueError>(kCtcLoss, "log_probs of dtype ", dtype_name(log_probs.dtype()),
                     "; floating dtypes are accepted");
  const Stream s = to_stream(stream);
  auto integers = [&](const char* what, const array& x) {
    if (!issubdtype(x.dtype(), integer))
      fail<ValueError>(kCtcLoss, what, " of dtype ", dtype_name(x.dtype()),
                       "; integers are accepted");
    return astype(x, int32, s);
  };
  auto lengths = [&](const char* what, const std::optional<array>& given, const array& of) {
    if (given) return integers(what, *given);
    const int64_t most = of.ndim() > 1 ? of.shape(1) : 0;
    return full({of.ndim() > 0 ? of.shape(0) : 0}, constant(static_cast<double>(most), int32), s);
  };
  const Arrays in{log_probs.dtype() == float64 ? log_probs : astype(log_probs, float32, s),
                  integers("targets", targets), lengths("input_lengths", input_lengths, log_probs),
                  lengths("target_lengths", target_lengths, targets)};
  return op_ctc.build(in, make_attrs(CtcAttrs{blank}).get(), s)[0];
}

}  // namespace fast

}  // namespace mlx::core
