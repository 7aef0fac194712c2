// Derivatives and batching of collectives. Every process is taken to compute the same loss: the
// cotangent of a sum is that of each summand.
#include "mlx/ops/collective.h"

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {

const CollectiveAttrs& collective_of(const Attrs* a) {
  return *static_cast<const CollectiveAttrs*>(a);
}

[[noreturn]] void refuse_rule(Collective kind, const char* what) {
  fail<ValueError>(name_of(kind), what,
                   " of an array that goes from one process to another; a custom_function gives it "
                   "a rule, and stop_gradient keeps derivatives from it");
}

/// The part of this process of an array that has those of all along its first axis.
array own_part(const array& g, const Shape& shape, const Channel& c, Stream s) {
  Shape start(g.ndim(), 0), stop = g.shape();
  const int64_t rows = shape.empty() ? 1 : shape[0];
  start[0] = c.rank() * rows;
  stop[0] = start[0] + rows;
  array part = slice(g, start, stop, s);
  return shape.empty() ? reshape(part, {}, s) : part;
}

/// `v` where this process has an extremum, divided by the number of processes that have one.
array share_of_extremum(const RuleArgs& r, const array& v) {
  const Stream s = r.stream;
  const array mine = astype(equal(r.inputs[0], r.outputs[0], s), v.dtype(), s);
  const array all = collective(Collective::all_sum, mine, collective_of(r.attrs).channel);
  return divide(multiply(v, mine, s), all, s);
}

}  // namespace

Arrays collective_vjp(const RuleArgs& r) {
  const CollectiveAttrs& a = collective_of(r.attrs);
  const array& g = r.grads[0];
  if (!g) return {array{}, array{}};
  const Stream s = r.stream;
  auto same = [&](Collective kind) { return Arrays{collective(kind, g, a.channel), array{}}; };
  switch (a.kind) {
    case Collective::all_sum:
      return {g, array{}};
    case Collective::all_max:
    case Collective::all_min:
      return {share_of_extremum(r, g), array{}};
    case Collective::all_gather:
      return {own_part(g, r.inputs[0].shape(), *a.channel, s), array{}};
    case Collective::sum_scatter:
      return same(Collective::all_gather);
    case Collective::all_to_all:
      return same(Collective::all_to_all);
    case Collective::broadcast: {
      const array sum = collective(Collective::all_sum, g, a.channel);
      return {a.channel->rank() == a.peer ? sum : multiply(sum, zero(g.dtype()), s), array{}};
    }
    default:
      refuse_rule(a.kind, "the derivative");
  }
}

Arrays collective_jvp(const RuleArgs& r) {
  const CollectiveAttrs& a = collective_of(r.attrs);
  if (a.kind == Collective::send || a.kind == Collective::recv)
    refuse_rule(a.kind, "the forward derivative");
  const array& t = r.grads[0];
  if (!t) return {array{}};
  if (a.kind == Collective::all_max || a.kind == Collective::all_min)
    return {collective(Collective::all_sum, share_of_extremum(r, t), a.channel)};
  return {collective(a.kind, t, a.channel, a.peer)};
}

Batched collective_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                        Stream s) {
  const CollectiveAttrs& a = collective_of(attrs);
  if (a.kind == Collective::recv) return {};
  const bool by_rows = a.kind == Collective::all_gather || a.kind == Collective::sum_scatter ||
                       a.kind == Collective::all_to_all;
  if (!by_rows) return {{collective(a.kind, in[0], a.channel, a.peer)}, {axes[0]}};
  // The first axis of each slice is the one that is divided or joined.
  const array x = in[0].ndim() == 1 ? expand_dims(in[0], 0, s) : moveaxis(in[0], axes[0], 1, s);
  return {{collective(a.kind, x, a.channel)}, {1}};
}

}  // namespace mlx::core::rules
