// Derivatives and batching of the CTC loss. Derivatives of its derivative follow from the sums in
// elementary ops.
#include "mlx/ops/ctc.h"

#include "mlx/ops.h"
#include "mlx/ops/composite.h"
#include "mlx/transforms/control.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core::rules {

namespace {

int blank_of(const Attrs* attrs) { return attrs_as<CtcAttrs>(attrs).blank; }

/// Labels with a blank before, between and after them, (N, 2 S + 1).
array path_of(const array& targets, const array& lengths, int blank, Stream s) {
  const array none = constant(blank, int32);
  const array numbers = arange(0, static_cast<double>(targets.shape(1)), int32, s);
  const array inside = less(numbers, expand_dims(lengths, 1, s), s);
  const array labels = where(inside, targets, none, s);
  const array blanks = full(targets.shape(), none, s);
  const array pairs = flatten(stack({blanks, labels}, 2, s), 1, 2, s);
  return concatenate({pairs, full({targets.shape(0), 1}, none, s)}, 1, s);
}

/// The negative log-likelihoods, by a scan over the steps.
array likelihoods(const Arrays& in, int blank, Stream s) {
  const array &x = in[0], &taken = in[2], &lengths = in[3];
  const int64_t batch = x.shape(0), steps = x.shape(1), states = 2 * in[1].shape(1) + 1;
  const array path = path_of(in[1], lengths, blank, s);
  const array chosen = broadcast_to(expand_dims(path, 1, s), {batch, steps, states}, s);
  const array scores = take_along_axis(x, chosen, 2, s);
  const array least = constant(kCtcLeast, x.dtype()), number = arange(0, states, int32, s);
  auto shifted = [s, batch, states](const array& a, int64_t by, const array& filling) {
    const int64_t n = std::min(by, states);
    const array kept = slice(a, {0, 0}, {batch, states - n}, {1, 1}, s);
    return concatenate({full({batch, n}, filling, s), kept}, 1, s);
  };
  // A label may follow another one at once where they differ.
  const array none = constant(blank, int32);
  const array differs = not_equal(path, shifted(path, 2, none), s);
  const array skips = logical_and(not_equal(path, none, s), differs, s);
  const array first = where(less(number, constant(2, int32), s), take(scores, 0, 1, s), least, s);
  auto step = [=](const Arrays& carried, const Arrays& slices) -> std::pair<Arrays, Arrays> {
    const array &sums = carried[0], &t = slices[0], &score = slices[1];
    const array skipped = where(skips, shifted(sums, 2, least), least, s);
    const array all = stack({sums, shifted(sums, 1, least), skipped}, 0, s);
    const array moved = maximum(add(logsumexp(all, 0, false, s), score, s), least, s);
    return {{where(expand_dims(less(t, taken, s), 1, s), moved, sums, s)}, {}};
  };
  const array later =
      moveaxis(slice(scores, {0, 1, 0}, {batch, steps, states}, {1, 1, 1}, s), 1, 0, s);
  const Arrays rows{arange(1, static_cast<double>(steps), int32, s), later};
  const array last = steps > 1 ? scan(step, {maximum(first, least, s)}, rows).first[0] : first;
  const array ends = subtract(multiply(expand_dims(lengths, 1, s), constant(2, int32), s),
                              arange(0, 2, int32, s), s);
  const array found = take_along_axis(last, maximum(ends, constant(0, int32), s), 1, s);
  const array sums = where(greater_equal(ends, constant(0, int32), s), found, least, s);
  const array nll = negative(logsumexp(sums, 1, false, s), s);
  // Where no alignment is possible, the likelihood does not change.
  const array possible = logical_and(less(nll, constant(-0.5 * kCtcLeast, x.dtype()), s),
                                     greater(taken, constant(0, int32), s), s);
  return where(possible, nll, zero(x.dtype()), s);
}

/// The slopes in elementary ops. The inputs past the first four, which are results of the loss,
/// take no part: the others determine them.
Formula slope_formula(const Attrs* attrs, Stream s) {
  return [blank = blank_of(attrs), s](const Arrays& in) {
    auto loss = [&](const Arrays& x) {
      return Arrays{likelihoods({x[0], in[1], in[2], in[3]}, blank, s)};
    };
    return vjp(loss, {in[0]}, {full({in[0].shape(0)}, constant(1, in[0].dtype()), s)}).second;
  };
}

array slopes(const RuleArgs& r) {
  Arrays in = r.inputs;
  in.insert(in.end(), r.outputs.begin(), r.outputs.end());
  return op_ctc_slope.build(in, r.attrs, r.stream)[0];
}

/// The op on a batch whose mapped axis is part of its first axis.
Batched on_one_axis(const OpDef& op, const Arrays& in, const std::vector<int>& axes,
                    const Attrs* attrs, Stream s) {
  const int64_t n = batch_size(in, axes);
  Arrays merged;
  for (size_t i = 0; i < in.size(); ++i)
    merged.push_back(flatten(with_batch(in[i], axes[i], n, s), 0, 1, s));
  Arrays out = op.build(merged, attrs, s);
  const int64_t each = in[0].shape(axes[0] == 0 ? 1 : 0);
  for (array& x : out) x = unflatten(x, 0, {n, each}, s);
  return {out, std::vector<int>(out.size(), 0)};
}

}  // namespace

Arrays ctc_vjp(const RuleArgs& r) {
  Arrays out(r.inputs.size());
  if (!r.requested[0] || !r.grads[0]) return out;
  const array grad = expand_dims(r.grads[0], std::vector<int>{1, 2}, r.stream);
  out[0] = multiply(slopes(r), grad, r.stream);
  return out;
}

Arrays ctc_jvp(const RuleArgs& r) {
  if (!r.grads[0]) return Arrays(2);
  const array products = multiply(slopes(r), r.grads[0], r.stream);
  return {sum(products, std::vector<int>{1, 2}, false, r.stream), array()};
}

Batched ctc_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  return on_one_axis(op_ctc, in, axes, attrs, s);
}

Arrays ctc_slope_vjp(const RuleArgs& r) { return formula_vjp(slope_formula(r.attrs, r.stream), r); }
Arrays ctc_slope_jvp(const RuleArgs& r) { return formula_jvp(slope_formula(r.attrs, r.stream), r); }
Batched ctc_slope_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                       Stream s) {
  return on_one_axis(op_ctc_slope, in, axes, attrs, s);
}

}  // namespace mlx::core::rules
