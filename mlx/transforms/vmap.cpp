// Vectorization (vmap). The function is traced once on placeholders without the mapped axis; then
// each op between them and the outputs is rebuilt by its rule, on arrays that have the axis.
#include "mlx/core/copy.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/loop.h"
#include "mlx/ops/rules.h"
#include "mlx/ops/view.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

/// The batched results of a node, and the position of the batch axis of each (-1: not batched).
struct Batch {
  Arrays arrays;
  std::vector<int> axes;
};

Batch apply_rule(const Node& n, const Batch& in, Stream s) {
  StreamScope here(s);
  bool mapped = std::any_of(in.axes.begin(), in.axes.end(), [](int a) { return a >= 0; });
  if (!mapped && n.op->build && n.op != &op_custom) {
    Arrays out = n.op->build(in.arrays, n.attrs.get(), s);
    std::vector<int> axes(out.size(), -1);
    return {std::move(out), std::move(axes)};
  }
  rules::Batched out;
  if (n.op->vmap) out = n.op->vmap(in.arrays, in.axes, n.attrs.get(), s);
  if (out.first.empty() && mapped) out = make_loop(n, in.arrays, in.axes, s);
  if (out.first.empty()) {
    out.first = results_of(copy_node(n, in.arrays));
    out.second.assign(out.first.size(), -1);
  }
  return {std::move(out.first), std::move(out.second)};
}

/// Rebuilds the graph from `traced` to `outputs` on `inputs` mapped over `axes`.
Batch vectorize(const Arrays& traced, const Arrays& outputs, const Batch& inputs) {
  Dependents graph(traced, outputs, Rule::vmap);
  std::vector<Batch> known(graph.order().size());
  for (size_t i = 0; i < traced.size(); ++i)
    known[graph.index(traced[i].node())] = {{inputs.arrays[i]}, {inputs.axes[i]}};
  auto result = [&](Node* n, size_t part) -> Batch {
    int at = graph.index(n);
    if (at < 0) return {{array(n)}, {-1}};
    return {{known[at].arrays.at(part)}, {known[at].axes.at(part)}};
  };
  for (size_t i = graph.sources(); i < graph.order().size(); ++i) {
    Node* n = graph.order()[i];
    if (Node* bundle = bundle_of(*n)) {
      known[i] = result(bundle, n->part);
      continue;
    }
    Batch in;
    for (Node* p : n->inputs()) {
      Batch one = result(p, 0);
      in.arrays.push_back(std::move(one.arrays[0]));
      in.axes.push_back(one.axes[0]);
    }
    known[i] = apply_rule(*n, in, stream_of(array(n)));
  }
  Batch out;
  for (const array& a : outputs) {
    Batch one = result(a.node(), 0);
    out.arrays.push_back(std::move(one.arrays[0]));
    out.axes.push_back(one.axes[0]);
  }
  return out;
}

/// Normalises an axis of an array with `rank` axes.
int resolve(int axis, size_t rank, const char* what, const Shape& shape) {
  int n = static_cast<int>(rank);
  if (axis < -n || axis >= n)
    fail<IndexError>("vmap", what, " axis ", axis, " of an array of shape ", to_string(shape), "; ",
                     -n, " to ", n - 1, " are accepted");
  return axis < 0 ? axis + n : axis;
}

/// Moves the batch axis of the output to `axis`, or repeats an unbatched output along it.
array place(const array& a, int at, std::optional<int> axis, int64_t length) {
  Stream s = stream_of(a);
  if (!axis) {
    if (at >= 0)
      fail<ValueError>("vmap",
                       "an output that depends on mapped inputs has no output axis; None is "
                       "accepted for outputs that do not");
    return a;
  }
  Shape inner = a.shape();
  if (at >= 0) inner.erase(inner.begin() + at);
  int to = resolve(*axis, inner.size() + 1, "output", inner);
  return moveaxis(rules::with_batch(a, at, length, s), 0, to, s);
}

std::optional<int> given(int axis) { return axis < 0 ? std::nullopt : std::optional(axis); }

MappedAxes given(const std::vector<int>& axes, size_t n, const char* what) {
  if (axes.empty()) return MappedAxes(n, 0);
  if (axes.size() != n)
    fail<ValueError>("vmap", axes.size(), " ", what, " axes for ", n,
                     " arrays; as many are accepted");
  MappedAxes out;
  for (int a : axes) out.push_back(given(a));
  return out;
}

/// A call on placeholders without the mapped axes.
struct Traced {
  Arrays passed, outputs;
  Arrays placeholders;  ///< of the mapped inputs
  Batch mapped;         ///< these inputs
  int64_t length = -1;  ///< of the mapped axes
};

/// The mapped inputs, with their axes counted from the front.
Traced split(const Arrays& inputs, const MappedAxes& in_axes) {
  Traced t;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!in_axes[i]) continue;
    note_shape_read(inputs[i]);
    const Shape& shape = inputs[i].shape();
    const int axis = resolve(*in_axes[i], shape.size(), "input", shape);
    if (t.length >= 0 && shape[axis] != t.length)
      fail<ValueError>("vmap", "mapped axes of lengths ", t.length, " and ", shape[axis],
                       "; equal lengths are accepted");
    t.length = shape[axis];
    t.mapped.arrays.push_back(inputs[i]);
    t.mapped.axes.push_back(axis);
  }
  if (t.mapped.arrays.empty())
    fail<ValueError>("vmap", "no input is mapped; an axis of at least one is needed");
  return t;
}

Traced trace(const Function& fun, const Arrays& inputs, const MappedAxes& in_axes) {
  TraceScope scope;
  Traced t = split(inputs, in_axes);
  for (size_t i = 0, k = 0; i < inputs.size(); ++i) {
    if (!in_axes[i]) {
      t.passed.push_back(inputs[i]);
      continue;
    }
    Shape shape = inputs[i].shape();
    shape.erase(shape.begin() + t.mapped.axes[k++]);
    t.placeholders.push_back(placeholder(std::move(shape), inputs[i].dtype()));
    t.placeholders.back().node()->stream = inputs[i].node()->stream;
    t.passed.push_back(t.placeholders.back());
  }
  t.outputs = fun(t.passed);
  return t;
}

/// The outputs for the mapped inputs.
Arrays replace(const Traced& t, const MappedAxes& out_axes) {
  Batch batch = vectorize(t.placeholders, t.outputs, t.mapped);
  for (size_t i = 0; i < batch.arrays.size(); ++i)
    batch.arrays[i] = place(batch.arrays[i], batch.axes[i], out_axes[i], t.length);
  return std::move(batch.arrays);
}

}  // namespace

Arrays vmap_call(const Function& fun, const Arrays& inputs, const MappedAxes& in_axes,
                 const std::function<MappedAxes(size_t)>& out_axes) {
  const Traced t = trace(fun, inputs, in_axes);
  return replace(t, out_axes(t.outputs.size()));
}

namespace detail {

std::pair<Arrays, Arrays> vmap_trace(const Function& fun, const Arrays& inputs,
                                     const std::vector<int>& in_axes) {
  Traced t = trace(fun, inputs, given(in_axes, inputs.size(), "input"));
  return {std::move(t.passed), std::move(t.outputs)};
}

Arrays vmap_replace(const Arrays& inputs, const Arrays& traced_inputs, const Arrays& traced_outputs,
                    const std::vector<int>& in_axes, const std::vector<int>& out_axes) {
  const MappedAxes axes = given(in_axes, inputs.size(), "input");
  if (traced_inputs.size() != inputs.size())
    fail<ValueError>("vmap", inputs.size(), " inputs for a trace of ", traced_inputs.size(),
                     "; as many are accepted");
  Traced t = split(inputs, axes);
  for (size_t i = 0, k = 0; i < inputs.size(); ++i) {
    if (!axes[i]) continue;
    Shape shape = inputs[i].shape();
    shape.erase(shape.begin() + t.mapped.axes[k++]);
    if (traced_inputs[i].shape() != shape || traced_inputs[i].dtype() != inputs[i].dtype())
      fail<ValueError>("vmap", "an input of shape ", to_string(inputs[i].shape()),
                       " for a trace of ", to_string(traced_inputs[i].shape()),
                       "; the inputs that were traced, or others like them, are accepted");
    t.placeholders.push_back(traced_inputs[i]);
  }
  t.outputs = traced_outputs;
  return replace(t, given(out_axes, traced_outputs.size(), "output"));
}

}  // namespace detail

Function vmap(const Function& fun, const std::vector<int>& in_axes,
              const std::vector<int>& out_axes) {
  return [=](const Arrays& inputs) {
    return vmap_call(fun, inputs, given(in_axes, inputs.size(), "input"),
                     [&](size_t n) { return given(out_axes, n, "output"); });
  };
}

namespace {

/// Refuses axes of a function of one or two arrays of which only the inputs, or only the output,
/// are not mapped (-1).
void check_axes(std::initializer_list<int> in_axes, int out_axis) {
  const bool none = std::ranges::all_of(in_axes, [](int axis) { return axis == -1; });
  if (none != (out_axis == -1))
    fail<ValueError>("vmap", none ? "an output axis without a mapped input" : "no output axis",
                     "; an output axis is accepted exactly where an input has one");
}

}  // namespace

UnaryFunction vmap(const UnaryFunction& fun, int in_axis, int out_axis) {
  check_axes({in_axis}, out_axis);
  Function general =
      vmap([fun](const Arrays& a) { return Arrays{fun(a[0])}; }, {in_axis}, {out_axis});
  return [general](const array& a) { return general({a})[0]; };
}

BinaryFunction vmap(const BinaryFunction& fun, int in_axis_a, int in_axis_b, int out_axis) {
  check_axes({in_axis_a, in_axis_b}, out_axis);
  Function general = vmap([fun](const Arrays& a) { return Arrays{fun(a[0], a[1])}; },
                          {in_axis_a, in_axis_b}, {out_axis});
  return [general](const array& a, const array& b) { return general({a, b})[0]; };
}

}  // namespace mlx::core
