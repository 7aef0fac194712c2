// Functions with user-defined rules, and checkpoint.
#include "mlx/transforms/custom_function.h"

#include <algorithm>
#include <atomic>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/rules.h"
#include "mlx/transforms/graph.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

using Rules = std::shared_ptr<const CustomRules>;

std::atomic<uint64_t> calls = 0;

struct CustomAttrs final : Attrs {
  Rules rules;
  size_t arity;  ///< inputs of the function; the rest are its outputs
  CustomAttrs(Rules r, size_t n) : rules(std::move(r)), arity(n) {}
  bool equals(const Attrs& o) const override {
    auto* other = dynamic_cast<const CustomAttrs*>(&o);
    return other && other->rules == rules && other->arity == arity;
  }
  size_t hash() const override { return std::hash<const void*>{}(rules.get()); }
  void visit(AttrVisitor&) override {
    fail<ValueError>("export", "a function with rules of its own cannot be exported");
  }
  Attrs* clone() const override { return new CustomAttrs(rules, arity); }
};

const CustomAttrs& custom_of(const Attrs* a) { return *static_cast<const CustomAttrs*>(a); }
Arrays first(const Arrays& a, size_t n) { return Arrays(a.begin(), a.begin() + n); }
Arrays rest(const Arrays& a, size_t n) { return Arrays(a.begin() + n, a.end()); }

void check_count(const char* op, size_t given, size_t expected, const char* what) {
  if (given != expected)
    fail<ValueError>(op, "the rule of a custom function gave ", given, " arrays for ", expected,
                     " ", what, "; as many are accepted");
}

Arrays custom_build(const Arrays& in, const Attrs* attrs, Stream) {
  const CustomAttrs& c = custom_of(attrs);
  return with_rules(first(in, c.arity), rest(in, c.arity), c.rules);
}

Arrays custom_vjp_rule(const RuleArgs& r) {
  const CustomAttrs& c = custom_of(r.attrs);
  Arrays cotangents = r.grads, outputs = rest(r.inputs, c.arity), out(r.inputs.size());
  cotangents.resize(outputs.size());
  if (!c.rules->vjp) {
    std::copy(cotangents.begin(), cotangents.end(), out.begin() + c.arity);
    return out;
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    if (!cotangents[k]) cotangents[k] = zeros_like(outputs[k], r.stream);
  StreamScope of_program;
  Arrays found = (*c.rules->vjp)(first(r.inputs, c.arity), cotangents, outputs);
  check_count("vjp", found.size(), c.arity, "inputs");
  for (size_t k = 0; k < c.arity; ++k) {
    if (!r.requested[k]) continue;
    if (bool(found[k]) && found[k].shape() != r.inputs[k].shape())
      fail<ValueError>("vjp", "the rule of a custom function gave shape ",
                       to_string(found[k].shape()), " for an input of shape ",
                       to_string(r.inputs[k].shape()), "; the shapes must agree");
    out[k] = found[k];
  }
  return out;
}

Arrays custom_jvp_rule(const RuleArgs& r) {
  const CustomAttrs& c = custom_of(r.attrs);
  if (!c.rules->jvp) return rest(r.grads, c.arity);
  std::vector<int> argnums;
  Arrays tangents;
  for (size_t k = 0; k < c.arity; ++k) {
    if (!r.grads[k]) continue;
    argnums.push_back(static_cast<int>(k));
    tangents.push_back(r.grads[k]);
  }
  StreamScope of_program;
  Arrays out = (*c.rules->jvp)(first(r.inputs, c.arity), tangents, argnums);
  check_count("jvp", out.size(), r.inputs.size() - c.arity, "outputs");
  return out;
}

std::optional<int> axis_if_mapped(int axis) {
  return axis < 0 ? std::nullopt : std::optional(axis);
}

/// The vjp rule of a function for arrays mapped over `axes`: inputs, then outputs.
CustomVjp batched_vjp(CustomVjp rule, std::vector<int> axes, size_t arity) {
  return [=](const Arrays& primals, const Arrays& cotangents, const Arrays& outputs) {
    Arrays all = primals;
    MappedAxes in;
    for (int a : axes) in.push_back(axis_if_mapped(a));
    for (size_t k = 0; k < cotangents.size(); ++k) in.push_back(in[arity + k]);
    all.insert(all.end(), outputs.begin(), outputs.end());
    all.insert(all.end(), cotangents.begin(), cotangents.end());
    size_t n = outputs.size();
    auto each = [&](const Arrays& a) {
      Arrays o(a.begin() + arity, a.begin() + arity + n);
      return rule(first(a, arity), rest(a, arity + n), o);
    };
    auto to = [&](size_t found) {
      check_count("vjp", found, arity, "inputs");
      MappedAxes out;
      for (size_t k = 0; k < arity; ++k) out.push_back(std::max(axes[k], 0));
      return out;
    };
    Arrays grads = vmap_call(each, all, in, to);
    // The cotangent of an input shared by the batch is the sum over the batch.
    for (size_t k = 0; k < arity; ++k)
      if (axes[k] < 0) grads[k] = sum(grads[k], 0, false, stream_of(grads[k]));
    return grads;
  };
}

CustomJvp batched_jvp(CustomJvp rule, std::vector<int> axes, size_t arity) {
  return [=](const Arrays& primals, const Arrays& tangents, const std::vector<int>& argnums) {
    Arrays all = primals;
    MappedAxes in;
    for (size_t k = 0; k < arity; ++k) in.push_back(axis_if_mapped(axes[k]));
    for (size_t k = 0; k < argnums.size(); ++k) in.push_back(in[argnums[k]]);
    all.insert(all.end(), tangents.begin(), tangents.end());
    auto each = [&](const Arrays& a) { return rule(first(a, arity), rest(a, arity), argnums); };
    return vmap_call(each, all, in, [&](size_t n) {
      check_count("jvp", n, axes.size() - arity, "outputs");
      MappedAxes out;
      for (size_t k = 0; k < n; ++k) out.push_back(axis_if_mapped(axes[arity + k]));
      return out;
    });
  };
}

rules::Batched custom_vmap_rule(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                                Stream) {
  const CustomAttrs& c = custom_of(attrs);
  size_t n = in.size() - c.arity;
  if (c.rules->vmap) {
    std::vector<int> given(axes.begin(), axes.begin() + c.arity);
    StreamScope of_program;
    rules::Batched out = (*c.rules->vmap)(first(in, c.arity), given);
    check_count("vmap", out.first.size(), n, "outputs");
    check_count("vmap", out.second.size(), n, "axes of outputs");
    return out;
  }
  if (c.rules->of_graph)
    return {with_rules(first(in, c.arity), rest(in, c.arity), c.rules),
            std::vector<int>(axes.begin() + c.arity, axes.end())};
  auto rules = std::make_shared<CustomRules>();
  if (c.rules->vjp) rules->vjp = batched_vjp(*c.rules->vjp, axes, c.arity);
  if (c.rules->jvp) rules->jvp = batched_jvp(*c.rules->jvp, axes, c.arity);
  return {with_rules(first(in, c.arity), rest(in, c.arity), rules),
          std::vector<int>(axes.begin() + c.arity, axes.end())};
}

/// Copies of the inputs, owned by this function: it may return an input, which must differ from the
/// input itself.
Arrays own_copies(const Arrays& inputs) {
  Arrays own;
  for (const array& a : inputs) own.push_back(trace_input(a));
  return own;
}

/// Values of active transformations that the graph reads other than through its inputs.
Arrays captured_arrays(const Graph& g) {
  Arrays found;
  NodeSet known;
  for (const array& a : g.inputs) known.emplace(a.node());
  const std::vector<Node*> nodes = computed_nodes(g);
  for (Node* n : nodes) known.emplace(n);
  auto consider = [&](Node* n) {
    if (is_live(n->trace) && !n->parts && known.emplace(n).second) found.emplace_back(n);
  };
  for (Node* n : nodes)
    if (!bundle_of(*n)) std::ranges::for_each(n->inputs(), consider);
  for (const array& a : g.outputs) consider(a.node());
  return found;
}

/// The derivative through a copy of the graph between inputs and outputs.
Arrays recomputed_vjp(const Arrays& inputs, const Arrays& cotangents, const Arrays& outputs) {
  // Several inputs may have become one array; its cotangent is given to the first of them.
  NodeMap<size_t> place;
  Graph g{{}, outputs, {}};
  for (const array& a : inputs)
    if (place.emplace(a.node(), g.inputs.size()).second) g.inputs.push_back(a);
  // The recomputation depends on the cotangents, so its memory is not needed before them.
  Arrays grads = vjp([&](const Arrays& fresh) { return instantiate(g, fresh); },
                     depends(g.inputs, cotangents), cotangents)
                     .second;
  Arrays out;
  for (const array& a : inputs) out.push_back(std::exchange(grads[place.at(a.node())], array()));
  return out;
}

Rules recomputing() {
  static const Rules rules =
      std::make_shared<const CustomRules>(CustomRules{recomputed_vjp, {}, {}, true});
  return rules;
}

bool same_axes(const Node& node, SmallVector<int, 8>& from) {
  for (size_t i = 0; i < node.shape.size(); ++i) from.push_back(static_cast<int>(i));
  return true;
}
bool same_layout(const Node&, const Layout& in, Layout& out) {
  out = in;
  return true;
}

}  // namespace

constinit const OpDef op_custom{.name = "custom_function",
                                .kind = OpKind::bundle,
                                .shapeless = true,
                                .build = custom_build,
                                .vjp = custom_vjp_rule,
                                .jvp = custom_jvp_rule,
                                .vmap = custom_vmap_rule};
constinit const OpDef op_custom_result{
    .name = "custom_result", .kind = OpKind::view, .view = same_layout, .permutes = same_axes};

std::span<Node* const> followed_inputs(const Node& n, Rule rule) {
  if (n.op == &op_stop_gradient && (rule == Rule::vjp || rule == Rule::jvp)) return {};
  if (n.op != &op_custom) return n.inputs();
  const CustomAttrs& c = custom_of(n.attrs.get());
  bool own = rule == Rule::vjp    ? c.rules->vjp.has_value()
             : rule == Rule::jvp  ? c.rules->jvp.has_value()
             : rule == Rule::vmap ? c.rules->vmap.has_value()
                                  : false;
  return own ? n.inputs().first(c.arity) : n.inputs();
}

uint64_t calls_with_rules() { return calls; }

bool has_user_rules(const Node& n) {
  if (n.op != &op_custom) return false;
  const CustomRules& r = *custom_of(n.attrs.get()).rules;
  return !r.of_graph && (r.vjp || r.jvp || r.vmap);
}

Arrays with_rules(const Arrays& inputs, const Arrays& outputs, Rules rules) {
  // No rule can be called if no transformation is active.
  if (!any_trace_runs() || outputs.empty()) return outputs;
  if (outputs.size() > 65535)
    fail<ValueError>("custom_function", outputs.size(), " outputs; up to 65535 are accepted");
  ++calls;
  Arrays all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  array bundle = make_node(op_custom, {}, outputs[0].dtype(), stream_of(outputs[0]), all,
                           Ref<const Attrs>(new CustomAttrs(std::move(rules), inputs.size())));
  bundle.node()->parts = new std::vector<PartInfo>;
  Arrays results;
  for (const array& a : outputs) {
    bundle.node()->parts->push_back({a.shape(), a.dtype(), {}});
    results.push_back(
        make_node(op_custom_result, a.shape(), a.dtype(), stream_of(a), {}, a, bundle));
    results.back().node()->part = static_cast<uint16_t>(results.size() - 1);
  }
  return results;
}

Function custom_function(Function fun, std::optional<CustomVjp> fun_vjp,
                         std::optional<CustomJvp> fun_jvp, std::optional<CustomVmap> fun_vmap) {
  auto rules = std::make_shared<const CustomRules>(
      CustomRules{std::move(fun_vjp), std::move(fun_jvp), std::move(fun_vmap)});
  return [fun, rules](const Arrays& inputs) {
    if (!any_trace_runs()) return fun(inputs);
    Arrays own = own_copies(inputs);
    return with_rules(own, fun(own), rules);
  };
}

Function custom_vjp(Function fun, CustomVjp fun_vjp) {
  return custom_function(std::move(fun), std::move(fun_vjp));
}

Function checkpoint(Function fun) {
  return [fun](const Arrays& inputs) {
    if (!any_trace_runs()) return fun(inputs);
    Arrays own = own_copies(inputs);
    Arrays outputs = fun(own);
    // The graph shows what else the function read: it gets derivatives too.
    Arrays read = captured_arrays({own, outputs, {}});
    own.insert(own.end(), read.begin(), read.end());
    return with_rules(own, outputs, recomputing());
  };
}

}  // namespace mlx::core
