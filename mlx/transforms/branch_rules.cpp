// Derivatives and batching of while loops and branches.
#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/view.h"
#include "mlx/transforms/closed.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

std::optional<int> along(bool mapped) { return mapped ? std::optional(0) : std::nullopt; }

MappedAxes axes_of(const std::vector<bool>& mapped) {
  MappedAxes axes;
  for (bool m : mapped) axes.push_back(along(m));
  return axes;
}

/// A while loop of two closed functions.
Arrays while_of(const ClosedFunction& condition, const Arrays& shared, const ClosedFunction& body,
                const Arrays& shared_body, const Arrays& carried, Stream s) {
  ControlAttrs attrs;
  attrs.functions = {condition.function, body.function};
  attrs.shared = static_cast<int64_t>(condition.captured.size() + shared.size());
  attrs.shared_body = static_cast<int64_t>(body.captured.size() + shared_body.size());
  attrs.carried = static_cast<int64_t>(carried.size());
  Arrays inputs = condition.captured;
  append(inputs, shared);
  append(inputs, body.captured);
  append(inputs, shared_body);
  append(inputs, carried);
  return make_control(op_while_loop, inputs, std::move(attrs), s);
}

/// The parts of a while loop.
struct WhileParts {
  const ControlAttrs& attrs;
  const Subgraph &condition, &body;
  size_t shared, shared_body, carried;
  explicit WhileParts(const Attrs* a)
      : attrs(control_of(a)),
        condition(*attrs.functions[0]),
        body(*attrs.functions[1]),
        shared(static_cast<size_t>(attrs.shared)),
        shared_body(static_cast<size_t>(attrs.shared_body)),
        carried(static_cast<size_t>(attrs.carried)) {}
  /// Of the inputs of the loop, those of the body.
  template <class List>
  List of_body(const List& inputs) const {
    return List(inputs.begin() + static_cast<int64_t>(shared), inputs.end());
  }
};

/// f(inputs), with those that are marked replaced.
Function at_marked(const Subgraph& f, const Arrays& values, const std::vector<bool>& marked) {
  return [&](const Arrays& fresh) {
    Arrays full = values;
    for (size_t k = 0, next = 0; k < full.size(); ++k)
      if (marked[k]) full[k] = fresh[next++];
    return call(f, full);
  };
}

/// A bool for each position in front of an array of more axes.
array in_front(const array& flags, size_t rank) {
  Shape shape = flags.shape();
  shape.resize(rank, 1);
  return reshape(flags, shape);
}

}  // namespace

namespace rules {

Arrays while_loop_vjp(const RuleArgs&) {
  fail<ValueError>("while_loop",
                   "reverse-mode derivatives of a loop whose number of iterations is not known; "
                   "jvp is accepted, and derivatives of scan and of fori_loop with bounds that "
                   "are Python integers");
}

Arrays while_loop_jvp(const RuleArgs& r) {
  const WhileParts p(r.attrs);
  const Arrays inputs = p.of_body(r.inputs), grads = p.of_body(r.grads);
  std::vector<bool> active(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k)
    active[k] = bool(grads[k]) && is_inexact(inputs[k].dtype());
  mark_carried(p.body, p.shared_body, p.carried, Rule::jvp, active);
  // The body takes shared inputs, their tangents, carried values, their tangents.
  Arrays like = part(p.body.inputs(), 0, p.shared_body), shared = part(inputs, 0, p.shared_body);
  Arrays carried = part(inputs, p.shared_body, p.carried), carried_like;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (k == p.shared_body) append(like, part(p.body.inputs(), k, p.carried));
    if (!active[k]) continue;
    const array t = grads[k] ? grads[k] : zeros_like(inputs[k], r.stream);
    (k < p.shared_body ? shared : carried).push_back(t);
    like.push_back(p.body.inputs()[k]);
  }
  const size_t n_shared = shared.size();
  carried_like = part(like, n_shared, carried.size());
  auto both = [&](const Arrays& a) {
    Arrays values = part(a, 0, p.shared_body),
           moving = part(a, p.shared_body, n_shared - p.shared_body);
    append(values, part(a, n_shared, p.carried));
    append(moving, part(a, n_shared + p.carried, carried.size() - p.carried));
    auto [outputs, pushed] =
        jvp(at_marked(p.body, values, active), marked_of(values, active), moving);
    for (size_t k = 0; k < p.carried; ++k)
      if (active[p.shared_body + k]) outputs.push_back(pushed[k]);
    return outputs;
  };
  Arrays condition_like = part(p.condition.inputs(), 0, p.shared);
  append(condition_like, carried_like);
  auto test = [&](const Arrays& a) { return call(p.condition, part(a, 0, p.shared + p.carried)); };
  const Arrays out =
      while_of(trace_closed("while_loop", test, condition_like), part(r.inputs, 0, p.shared),
               trace_closed("while_loop", both, like), shared, carried, r.stream);
  Arrays tangents(p.carried);
  for (size_t k = 0, next = p.carried; k < p.carried; ++k)
    if (active[p.shared_body + k]) tangents[k] = out[next++];
  return tangents;
}

/// A condition that differs between positions: the loop goes on while one of them does, and those
/// that are over keep their values. The conditions of all positions are carried, in front.
static Batched while_each(const WhileParts& p, const Arrays& given, const std::vector<bool>& mapped,
                          int64_t n, Stream s) {
  const Arrays shared = part(given, 0, p.shared),
               shared_body = part(given, p.shared, p.shared_body);
  const Arrays carried = part(given, p.shared + p.shared_body, p.carried);
  std::vector<bool> of_condition(mapped.begin(), mapped.begin() + static_cast<int64_t>(p.shared));
  of_condition.insert(of_condition.end(), p.carried, true);
  const std::vector<bool> of_body = p.of_body(mapped);
  auto test = [&](const Arrays& fixed, const Arrays& values) {
    Arrays all = fixed;
    append(all, values);
    return vmap_call([&](const Arrays& a) { return call(p.condition, a); }, all,
                     axes_of(of_condition), [](size_t m) { return MappedAxes(m, 0); })[0];
  };
  // The body takes the shared inputs of both functions.
  Arrays like = with_axis(part(p.condition.inputs(), 0, p.shared), of_condition, n);
  append(like, with_axis(part(p.body.inputs(), 0, p.shared_body), of_body, n));
  array flags = placeholders_like({zeros({n}, bool_)})[0];
  like.push_back(flags);
  append(like, with_axis(part(p.body.inputs(), p.shared_body, p.carried),
                         std::vector<bool>(p.carried, true), n));
  const size_t first = p.shared + p.shared_body;
  auto step = [&](const Arrays& a) {
    const array& goes_on = a[first];
    const Arrays before = part(a, first + 1, p.carried);
    Arrays all = part(a, p.shared, p.shared_body);
    append(all, before);
    Arrays next = vmap_call([&](const Arrays& one) { return call(p.body, one); }, all,
                            axes_of(of_body), [](size_t m) { return MappedAxes(m, 0); });
    for (size_t k = 0; k < next.size(); ++k)
      next[k] = where(in_front(goes_on, next[k].ndim()), next[k], before[k]);
    Arrays out{logical_and(goes_on, test(part(a, 0, p.shared), next))};
    append(out, next);
    return out;
  };
  auto any_goes_on = [](const Arrays& a) { return Arrays{any(a[0])}; };
  Arrays initial{test(shared, carried)};
  append(initial, carried);
  Arrays both = shared;
  append(both, shared_body);
  Arrays out = while_of(trace_closed("while_loop", any_goes_on, part(like, first, p.carried + 1)),
                        {}, trace_closed("while_loop", step, like), both, initial, s);
  out.erase(out.begin());
  std::vector<int> at(out.size(), 0);
  return {std::move(out), std::move(at)};
}

Batched while_loop_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                        Stream s) {
  const WhileParts p(attrs);
  const int64_t n = batch_size(inputs, axes);
  std::vector<bool> mapped;
  for (int a : axes) mapped.push_back(a >= 0);
  std::vector<bool> of_body = p.of_body(mapped);
  mark_carried(p.body, p.shared_body, p.carried, Rule::vmap, of_body);
  std::vector<bool> of_condition(mapped.begin(), mapped.begin() + static_cast<int64_t>(p.shared));
  of_condition.insert(of_condition.end(), of_body.begin() + static_cast<int64_t>(p.shared_body),
                      of_body.end());
  const bool each = reached(p.condition, of_condition, Rule::vmap)[0];
  const size_t first = p.shared + p.shared_body;
  Arrays given;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (k >= first) mapped[k] = each || of_body[k - p.shared];
    given.push_back(mapped[k] ? with_batch(inputs[k], axes[k], n, s) : inputs[k]);
  }
  if (each) return while_each(p, given, mapped, n, s);
  MappedAxes out_axes;
  for (size_t k = 0; k < p.carried; ++k) out_axes.push_back(along(mapped[first + k]));
  // Shapes of carried values that the condition does not depend on may have the axis, too.
  auto test = [&](const Arrays& a) {
    return vmap_call([&](const Arrays& one) { return call(p.condition, one); }, a,
                     axes_of(of_condition), [](size_t m) { return MappedAxes(m, std::nullopt); });
  };
  auto plain_test = [&](const Arrays& a) { return call(p.condition, a); };
  const bool none = std::ranges::none_of(of_condition, std::identity{});
  auto step = [&](const Arrays& a) {
    return vmap_call([&](const Arrays& one) { return call(p.body, one); }, a, axes_of(of_body),
                     [&](size_t) { return out_axes; });
  };
  const Function condition = none ? Function(plain_test) : Function(test);
  Arrays out = while_of(
      trace_closed("while_loop", condition, with_axis(p.condition.inputs(), of_condition, n)),
      part(given, 0, p.shared),
      trace_closed("while_loop", step, with_axis(p.body.inputs(), of_body, n)),
      part(given, p.shared, p.shared_body), part(given, first, p.carried), s);
  std::vector<int> at;
  for (const auto& axis : out_axes) at.push_back(axis ? 0 : -1);
  return {std::move(out), std::move(at)};
}

}  // namespace rules

namespace {

/// A switch over other functions of the same operands; `fun(k)` is number k.
Arrays switch_of(const array& index, const Subgraphs& functions,
                 const std::function<Function(const Subgraph&)>& fun, const Arrays& like,
                 const Arrays& operands, Stream s) {
  std::vector<Graph> graphs;
  Arrays captured;
  NodeSet seen;
  for (const auto& f : functions) {
    graphs.push_back(simplify(trace(fun(*f), like, "switch")));
    for (const array& a : close("switch", graphs.back()).captured)
      if (seen.emplace(a.node()).second) captured.push_back(a);
  }
  ControlAttrs attrs;
  for (const Graph& g : graphs) {
    Arrays inputs = captured;
    append(inputs, g.inputs);
    attrs.functions.push_back(close("switch", {std::move(inputs), g.outputs, {}}).function);
  }
  Arrays inputs{index};
  append(inputs, captured);
  append(inputs, operands);
  return make_control(op_switch, inputs, std::move(attrs), s);
}

/// Outputs that one of the functions reaches from the marked operands.
std::vector<bool> reached_by_any(const Subgraphs& functions, const std::vector<bool>& from,
                                 Rule rule) {
  std::vector<bool> out(functions[0]->outputs().size(), false);
  for (const auto& f : functions) {
    const std::vector<bool> one = reached(*f, from, rule);
    for (size_t k = 0; k < out.size(); ++k) out[k] = out[k] || one[k];
  }
  return out;
}

}  // namespace

namespace rules {

Arrays switch_jvp(const RuleArgs& r) {
  const Subgraphs& functions = control_of(r.attrs).functions;
  const size_t n = r.inputs.size() - 1;
  const Arrays values = part(r.inputs, 1, n);
  std::vector<bool> active(n);
  Arrays tangents, like = functions[0]->inputs();
  for (size_t k = 0; k < n; ++k) {
    active[k] = bool(r.grads[k + 1]) && is_inexact(values[k].dtype());
    if (active[k]) tangents.push_back(r.grads[k + 1]);
  }
  const std::vector<bool> found = reached_by_any(functions, active, Rule::jvp);
  if (std::ranges::none_of(found, std::identity{})) return Arrays(r.outputs.size());
  append(like, marked_of(like, active));
  Arrays operands = values;
  append(operands, tangents);
  auto pushed = [&](const Subgraph& f) -> Function {
    return [&f, &active, &found, n](const Arrays& a) {
      const Arrays given = part(a, 0, n);
      return marked_of(
          jvp(at_marked(f, given, active), marked_of(given, active), part(a, n, a.size() - n))
              .second,
          found);
    };
  };
  const Arrays moved = switch_of(r.inputs[0], functions, pushed, like, operands, r.stream);
  Arrays out(r.outputs.size());
  for (size_t k = 0, next = 0; k < out.size(); ++k)
    if (found[k]) out[k] = moved[next++];
  return out;
}

/// The function that ran computes its values again for its derivative.
Arrays switch_vjp(const RuleArgs& r) {
  const Subgraphs& functions = control_of(r.attrs).functions;
  const size_t n = r.inputs.size() - 1;
  const Arrays values = part(r.inputs, 1, n);
  std::vector<bool> active(n), wanted(r.outputs.size());
  for (size_t k = 0; k < n; ++k) active[k] = r.requested[k + 1] && is_inexact(values[k].dtype());
  const std::vector<bool> found = reached_by_any(functions, active, Rule::vjp);
  Arrays like = functions[0]->inputs(), operands = values, out(r.inputs.size());
  for (size_t k = 0; k < wanted.size(); ++k) {
    wanted[k] = found[k] && bool(r.grads[k]);
    if (!wanted[k]) continue;
    like.push_back(functions[0]->outputs()[k]);
    operands.push_back(r.grads[k]);
  }
  if (std::ranges::none_of(wanted, std::identity{})) return out;
  auto pulled = [&](const Subgraph& f) -> Function {
    return [&f, &active, &wanted, n](const Arrays& a) {
      const Arrays given = part(a, 0, n);
      const Function all = at_marked(f, given, active);
      return vjp([&](const Arrays& fresh) { return marked_of(all(fresh), wanted); },
                 marked_of(given, active), part(a, n, a.size() - n))
          .second;
    };
  };
  const Arrays grads = switch_of(r.inputs[0], functions, pulled, like, operands, r.stream);
  for (size_t k = 0, next = 0; k < n; ++k)
    if (active[k]) out[k + 1] = grads[next++];
  return out;
}

/// Functions of different numbers run for all positions, and each position selects its own.
static Batched switch_each(const Arrays& inputs, const std::vector<int>& axes,
                           const Subgraphs& functions, Stream s) {
  const int64_t n = batch_size(inputs, axes);
  const array index = to_front(inputs[0], axes[0], s);
  Arrays out;
  const Arrays operands = part(inputs, 1, inputs.size() - 1);
  MappedAxes in_axes;
  for (size_t k = 1; k < axes.size(); ++k)
    in_axes.push_back(axes[k] < 0 ? std::nullopt : std::optional(axes[k]));
  const bool mapped = std::ranges::any_of(in_axes, [](const auto& a) { return a.has_value(); });
  for (size_t b = 0; b < functions.size(); ++b) {
    auto one = [&](const Arrays& a) { return call(*functions[b], a); };
    Arrays results;
    if (mapped) {
      results = vmap_call(one, operands, in_axes, [](size_t m) { return MappedAxes(m, 0); });
    } else {
      for (const array& a : one(operands)) results.push_back(with_batch(a, -1, n, s));
    }
    if (b == 0) {
      out = results;
      continue;
    }
    const array chosen = equal(index, array(static_cast<int32_t>(b), int32), s);
    for (size_t k = 0; k < out.size(); ++k)
      out[k] = where(in_front(chosen, out[k].ndim()), results[k], out[k], s);
  }
  std::vector<int> at(out.size(), 0);
  return {std::move(out), std::move(at)};
}

Batched switch_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                    Stream s) {
  const Subgraphs& functions = control_of(attrs).functions;
  if (axes[0] >= 0) return switch_each(inputs, axes, functions, s);
  const int64_t n = batch_size(inputs, axes);
  std::vector<bool> mapped;
  Arrays operands;
  for (size_t k = 1; k < inputs.size(); ++k) {
    mapped.push_back(axes[k] >= 0);
    operands.push_back(to_front(inputs[k], axes[k], s));
  }
  const std::vector<bool> found = reached_by_any(functions, mapped, Rule::vmap);
  auto each = [&](const Subgraph& f) -> Function {
    return [&f, &mapped, &found](const Arrays& a) {
      return vmap_call([&](const Arrays& one) { return call(f, one); }, a, axes_of(mapped),
                       [&](size_t) { return axes_of(found); });
    };
  };
  Arrays out = switch_of(inputs[0], functions, each, with_axis(functions[0]->inputs(), mapped, n),
                         operands, s);
  std::vector<int> at;
  for (bool f : found) at.push_back(f ? 0 : -1);
  return {std::move(out), std::move(at)};
}

}  // namespace rules

}  // namespace mlx::core
