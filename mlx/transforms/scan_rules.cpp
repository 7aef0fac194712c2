// Derivatives and batching of scans: each is another scan over a transformed function.
#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/view.h"
#include "mlx/runtime/claims.h"
#include "mlx/transforms/closed.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

/// Inputs or results of a scan in three groups.
struct ScanGroups {
  Arrays shared, carried, slices;
  Arrays all() const {
    Arrays a = shared;
    append(a, carried);
    append(a, slices);
    return a;
  }
};

/// A scan with another function, of a graph whose inputs are in the order of `in`.
Arrays scan_of(const Graph& g, const ScanGroups& in, const ControlAttrs& like, bool reverse,
               Stream s) {
  ClosedFunction closed = close("scan", g);
  ControlAttrs attrs;
  attrs.functions = {closed.function};
  attrs.shared = static_cast<int64_t>(closed.captured.size() + in.shared.size());
  attrs.carried = static_cast<int64_t>(in.carried.size());
  attrs.length = like.length;
  attrs.reverse = reverse;
  attrs.checkpoint = like.checkpoint;
  Arrays inputs = std::move(closed.captured);
  append(inputs, in.all());
  return make_control(op_scan_loop, inputs, std::move(attrs), s);
}

/// The parts of a scan: its function, and the numbers of its inputs.
struct ScanParts {
  const ControlAttrs& attrs;
  const Subgraph& f;
  size_t shared, carried, inputs, outputs;
  explicit ScanParts(const Attrs* a)
      : attrs(control_of(a)),
        f(*attrs.functions[0]),
        shared(static_cast<size_t>(attrs.shared)),
        carried(static_cast<size_t>(attrs.carried)),
        inputs(f.inputs().size()),
        outputs(f.outputs().size()) {}
  size_t first_slice() const { return shared + carried; }
  bool is_carried(size_t k) const { return k >= shared && k < first_slice(); }
};

/// Adds the arrays of `more` that `marked` selects to the groups of a scan's inputs.
void add_marked(ScanGroups& to, const ScanParts& p, const Arrays& more,
                const std::vector<bool>& marked) {
  for (size_t k = 0; k < p.inputs; ++k)
    if (marked[k])
      (k < p.shared ? to.shared : p.is_carried(k) ? to.carried : to.slices).push_back(more[k]);
}

ScanGroups groups_of(const ScanParts& p, const Arrays& inputs) {
  ScanGroups g;
  add_marked(g, p, inputs, std::vector<bool>(p.inputs, true));
  return g;
}

array zeros_where_null(const array& a, const array& like, Stream s) {
  return a ? a : zeros_like(like, s);
}

}  // namespace

namespace rules {

Arrays scan_loop_jvp(const RuleArgs& r) {
  const ScanParts p(r.attrs);
  std::vector<bool> active(p.inputs);
  for (size_t k = 0; k < p.inputs; ++k)
    active[k] = bool(r.grads[k]) && is_inexact(r.inputs[k].dtype());
  mark_carried(p.f, p.shared, p.carried, Rule::jvp, active);
  const std::vector<bool> active_out = reached(p.f, active, Rule::jvp);
  Arrays tangents(p.inputs);
  for (size_t k = 0; k < p.inputs; ++k)
    if (active[k]) tangents[k] = zeros_where_null(r.grads[k], r.inputs[k], r.stream);
  // The function takes each group of inputs, followed by the tangents of that group.
  ScanGroups in, like;
  const ScanGroups given = groups_of(p, r.inputs), taken = groups_of(p, p.f.inputs());
  in = given, like = taken;
  add_marked(in, p, tangents, active);
  add_marked(like, p, p.f.inputs(), active);
  const size_t carried = like.carried.size();
  auto both = [&](const Arrays& a) {
    ScanGroups all{part(a, 0, like.shared.size()), part(a, like.shared.size(), carried),
                   part(a, like.shared.size() + carried, like.slices.size())};
    Arrays values = part(all.shared, 0, p.shared), moving;
    append(values, part(all.carried, 0, p.carried));
    append(values, part(all.slices, 0, taken.slices.size()));
    append(moving, part(all.shared, p.shared, all.shared.size() - p.shared));
    append(moving, part(all.carried, p.carried, carried - p.carried));
    append(moving, part(all.slices, taken.slices.size(), all.slices.size() - taken.slices.size()));
    auto some = [&](const Arrays& fresh) {
      Arrays full = values;
      for (size_t k = 0, next = 0; k < full.size(); ++k)
        if (active[k]) full[k] = fresh[next++];
      return call(p.f, full);
    };
    auto [outputs, pushed] = jvp(some, marked_of(values, active), moving);
    Arrays out = part(outputs, 0, p.carried);
    for (size_t k = 0; k < p.carried; ++k)
      if (active[p.shared + k]) out.push_back(pushed[k]);
    append(out, part(outputs, p.carried, p.outputs - p.carried));
    for (size_t k = p.carried; k < p.outputs; ++k)
      if (active_out[k]) out.push_back(pushed[k]);
    return out;
  };
  const Graph g = simplify(trace(both, like.all(), "scan"));
  const Arrays results = scan_of(g, in, p.attrs, p.attrs.reverse, r.stream);
  Arrays out(p.outputs);
  size_t next = p.carried;
  for (size_t k = 0; k < p.carried; ++k)
    if (active[p.shared + k]) out[k] = results[next++];
  next += p.outputs - p.carried;
  for (size_t k = p.carried; k < p.outputs; ++k)
    if (active_out[k]) out[k] = results[next++];
  return out;
}

Batched scan_loop_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                       Stream s) {
  const ScanParts p(attrs);
  const int64_t n = batch_size(inputs, axes);
  std::vector<bool> mapped(p.inputs);
  for (size_t k = 0; k < p.inputs; ++k) mapped[k] = axes[k] >= 0;
  mark_carried(p.f, p.shared, p.carried, Rule::vmap, mapped);
  const std::vector<bool> mapped_out = reached(p.f, mapped, Rule::vmap);
  Arrays given;
  MappedAxes in_axes, out_axes;
  auto along = [](bool is) { return is ? std::optional(0) : std::nullopt; };
  for (size_t k = 0; k < p.inputs; ++k) {
    array a = inputs[k];
    if (mapped[k]) a = with_batch(a, axes[k], n, s);
    if (mapped[k] && k >= p.first_slice()) a = swapaxes(a, 0, 1, s);
    given.push_back(a);
    in_axes.push_back(along(mapped[k]));
  }
  for (size_t k = 0; k < p.outputs; ++k)
    out_axes.push_back(along(k < p.carried ? mapped[p.shared + k] : mapped_out[k]));
  auto each = [&](const Arrays& a) {
    return vmap_call([&](const Arrays& one) { return call(p.f, one); }, a, in_axes,
                     [&](size_t) { return out_axes; });
  };
  const Graph g = simplify(trace(each, with_axis(p.f.inputs(), mapped, n), "scan"));
  Arrays out = scan_of(g, groups_of(p, given), p.attrs, p.attrs.reverse, s);
  std::vector<int> at;
  for (size_t k = 0; k < p.outputs; ++k) at.push_back(!out_axes[k] ? -1 : k < p.carried ? 0 : 1);
  return {std::move(out), std::move(at)};
}

}  // namespace rules

namespace {

/// The reverse pass of a scan. The function's derivative is divided into what depends on cotangents
/// and the values that this part reads: the forward scan stores these, and the reverse scan goes
/// over them from the other end.
class ReverseScan {
 public:
  explicit ReverseScan(const RuleArgs& r) : r_(r), p_(r.attrs), active_(p_.inputs) {}

  Arrays run() {
    for (size_t k = 0; k < p_.inputs; ++k)
      active_[k] = r_.requested[k] && is_inexact(r_.inputs[k].dtype());
    mark_carried(p_.f, p_.shared, p_.carried, Rule::vjp, active_);
    const std::vector<bool> found = reached(p_.f, active_, Rule::vjp);
    wanted_.resize(p_.outputs);
    for (size_t k = 0; k < p_.outputs; ++k)
      wanted_[k] = k < p_.carried ? active_[p_.shared + k] : found[k] && bool(r_.grads[k]);
    if (std::ranges::none_of(wanted_, std::identity{})) return Arrays(p_.inputs);
    trace_derivative();
    find_read();
    const Arrays kept = store();
    return gradients(kept);
  }

 private:
  /// Graph of the function and its derivative. Inputs: the function's, cotangents of what it
  /// carries, sums of the cotangents of shared inputs, cotangents of slices. Outputs: the
  /// function's, cotangents before the iteration, sums with it, cotangents of the input slices.
  void trace_derivative() {
    Arrays like = p_.f.inputs();
    for (size_t k = 0; k < p_.carried; ++k)
      if (active_[p_.shared + k]) like.push_back(p_.f.inputs()[p_.shared + k]);
    n_carried_ = like.size() - p_.inputs;
    for (size_t k = 0; k < p_.shared; ++k)
      if (active_[k]) like.push_back(p_.f.inputs()[k]);
    n_sums_ = like.size() - p_.inputs - n_carried_;
    for (size_t k = p_.carried; k < p_.outputs; ++k)
      if (wanted_[k]) like.push_back(p_.f.outputs()[k]);
    auto derivative = [&](const Arrays& a) {
      const Arrays values = part(a, 0, p_.inputs);
      const Arrays sums = part(a, p_.inputs + n_carried_, n_sums_);
      Arrays cotangents = part(a, p_.inputs, n_carried_), outputs;
      append(cotangents, part(a, p_.inputs + n_carried_ + n_sums_,
                              a.size() - p_.inputs - n_carried_ - n_sums_));
      auto some = [&](const Arrays& fresh) {
        Arrays full = values;
        for (size_t k = 0, next = 0; k < full.size(); ++k)
          if (active_[k]) full[k] = fresh[next++];
        outputs = call(p_.f, full);
        return marked_of(outputs, wanted_);
      };
      const Arrays grads = vjp(some, marked_of(values, active_), cotangents).second;
      ScanGroups found;
      for (size_t k = 0, next = 0, sum = 0; k < p_.inputs; ++k) {
        if (!active_[k]) continue;
        const array& g = grads[next++];
        if (k < p_.shared)
          found.shared.push_back(add(sums[sum++], g));
        else
          (p_.is_carried(k) ? found.carried : found.slices).push_back(g);
      }
      append(outputs, found.carried);
      append(outputs, found.shared);
      append(outputs, found.slices);
      return outputs;
    };
    graph_ = simplify(trace(derivative, like, "scan"));
  }

  Arrays cotangents() const {
    return part(graph_.inputs, p_.inputs, graph_.inputs.size() - p_.inputs);
  }
  Arrays results() const {
    return part(graph_.outputs, p_.outputs, graph_.outputs.size() - p_.outputs);
  }

  /// The values that the derivative reads: inputs of the function, and values inside of it. Views
  /// are computed again.
  void find_read() {
    const Dependents backward(cotangents(), results(), Rule::graph);
    const Dependents varying(part(graph_.inputs, p_.shared, p_.inputs - p_.shared), results(),
                             Rule::graph);
    NodeMap<size_t> input_of;
    for (size_t k = 0; k < p_.inputs; ++k) input_of[graph_.inputs[k].node()] = k;
    for (const array& c : cotangents()) input_of[c.node()] = p_.inputs;
    read_.assign(p_.inputs + 1, false);
    NodeSet seen;
    std::vector<Node*> stack;
    auto enter = [&](Node* n) {
      if (seen.emplace(n).second) stack.push_back(n);
    };
    for (const array& g : results()) enter(g.node());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      if (const size_t* k = input_of.find(n)) {
        read_[*k] = true;
        continue;
      }
      const bool is_forward = backward.index(n) < 0;
      if (is_forward && varying.index(n) < 0) continue;  // the same in each iteration
      if (is_forward && !p_.attrs.checkpoint && n->op->kind != OpKind::view)
        inside_.emplace_back(n);
      else
        for (Node* in : n->inputs()) enter(in);
    }
    // Values that are the same in each iteration read shared inputs alone.
    for (size_t k = 0; k < p_.shared; ++k) read_[k] = true;
  }

  /// The slices of the values that the derivative reads, in the order of its inputs: carried
  /// values, the input slices, the values inside.
  Arrays store() {
    Arrays extra;
    for (size_t k = p_.shared; k < p_.first_slice(); ++k)
      if (read_[k]) extra.push_back(graph_.inputs[k]);
    const size_t n_carries = extra.size();
    append(extra, inside_);
    Arrays kept, stored;
    if (!extra.empty()) stored = extended(extra);
    append(kept, part(stored, 0, n_carries));
    for (size_t k = p_.first_slice(); k < p_.inputs; ++k)
      if (read_[k]) kept.push_back(r_.inputs[k]);
    append(kept, part(stored, n_carries, inside_.size()));
    return kept;
  }

  /// Slices of further results of the scan. A scan that has not run gets them as more results;
  /// after that, another one computes them.
  Arrays extended(const Arrays& extra) {
    Graph g{part(graph_.inputs, 0, p_.inputs), part(graph_.outputs, 0, p_.outputs), {}};
    append(g.outputs, extra);
    ClosedFunction closed = close("scan", g);
    ControlAttrs attrs = p_.attrs;
    attrs.shared += static_cast<int64_t>(closed.captured.size());
    Arrays inputs = closed.captured;
    append(inputs, r_.inputs);
    attrs.functions = {closed.function};
    if (closed.captured.empty() && !r_.outputs.empty())
      if (Arrays more = extend_node(r_.outputs[0].node()->inputs()[0], attrs, extra.size());
          !more.empty())
        return more;
    const Arrays out = make_control(op_scan_loop, inputs, std::move(attrs), r_.stream);
    return part(out, p_.outputs, extra.size());
  }

  /// Gives a scan that is still pending a function with more results; no arrays where it has run.
  Arrays extend_node(Node* scan, const ControlAttrs& attrs, size_t n_extra) {
    Arrays added;
    with_claims([&](Claims& claims) {
      claims.claim(scan);
      if (scan->op != &op_scan_loop || scan->status != Status::pending ||
          scan->attrs.get() != r_.attrs || scan->parts->size() != p_.outputs)
        return;
      auto parts = *scan->parts;
      const Arrays& outputs = attrs.functions[0]->outputs();
      for (size_t k = outputs.size() - n_extra; k < outputs.size(); ++k)
        parts.push_back({prepend_length(outputs[k].shape()), outputs[k].dtype(), {}});
      *scan->parts = std::move(parts);
      kept_attrs_ = scan->attrs;
      scan->attrs = Ref<const Attrs>(new ControlAttrs(attrs));
      const Arrays all = results_of(array(scan));
      added = part(all, p_.outputs, n_extra);
    });
    return added;
  }
  Shape prepend_length(const Shape& s) const { return rules::prepend(p_.attrs.length, s); }

  Arrays gradients(const Arrays& kept) {
    // The function's inputs: shared; cotangents and sums, which it carries; slices.
    ScanGroups taken, given;
    for (size_t k = 0; k < p_.shared; ++k) {
      taken.shared.push_back(graph_.inputs[k]);
      given.shared.push_back(r_.inputs[k]);
    }
    taken.carried = part(graph_.inputs, p_.inputs, n_carried_ + n_sums_);
    for (size_t k = 0; k < p_.carried; ++k)
      if (active_[p_.shared + k])
        given.carried.push_back(zeros_where_null(r_.grads[k], r_.inputs[p_.shared + k], r_.stream));
    for (size_t k = 0; k < p_.shared; ++k)
      if (active_[k]) given.carried.push_back(zeros_like(r_.inputs[k], r_.stream));
    for (size_t k = p_.shared; k < p_.inputs; ++k)
      if (read_[k]) taken.slices.push_back(graph_.inputs[k]);
    append(taken.slices, inside_);
    given.slices = kept;
    const size_t first = p_.inputs + n_carried_ + n_sums_;
    append(taken.slices, part(graph_.inputs, first, graph_.inputs.size() - first));
    for (size_t k = p_.carried; k < p_.outputs; ++k)
      if (wanted_[k]) given.slices.push_back(r_.grads[k]);
    const Arrays found =
        scan_of({taken.all(), results(), {}}, given, p_.attrs, !p_.attrs.reverse, r_.stream);
    Arrays out(p_.inputs);
    size_t carried = 0, sum = n_carried_, slice = n_carried_ + n_sums_;
    for (size_t k = 0; k < p_.inputs; ++k)
      if (active_[k])
        out[k] = found[k < p_.shared ? sum++ : p_.is_carried(k) ? carried++ : slice++];
    return out;
  }

  const RuleArgs& r_;
  const ScanParts p_;
  std::vector<bool> active_, wanted_, read_;
  Graph graph_;
  Arrays inside_;
  size_t n_carried_ = 0, n_sums_ = 0;
  Ref<const Attrs> kept_attrs_;
};

}  // namespace

Arrays rules::scan_loop_vjp(const RuleArgs& r) { return ReverseScan(r).run(); }

}  // namespace mlx::core
