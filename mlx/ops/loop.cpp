// Loop ops: how they are made, batched again and differentiated.
#include "mlx/ops/loop.h"

#include <algorithm>

#include "mlx/core/copy.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {

/// A node like `n` over placeholders that belong to no trace.
array detached_copy(const Node& n) {
  Arrays inputs;
  for (const Node* in : n.inputs()) {
    inputs.push_back(placeholder(in->shape, in->dtype, n.op->name));
    inputs.back().node()->trace = 0;
    inputs.back().node()->stream = in->stream;
  }
  return copy_node(n, inputs);
}

/// The op built for positions of other shapes.
Arrays build_loop(const Arrays& inputs, const Attrs* attrs, Stream s) {
  const auto& m = static_cast<const LoopAttrs&>(*attrs);
  const OpDef& op = *m.node().op;
  if (!op.build) fail<ValueError>("vmap", "the op ", op.name, " cannot be built for other shapes");
  return loop_built(inputs, m.mapped, s, [&](const Arrays& slices) {
    return op.build(slices, m.node().attrs.get(), s);
  });
}

/// The inputs at one position.
Arrays iteration_slices(const Arrays& inputs, const std::vector<bool>& mapped) {
  Arrays slices;
  int64_t length = -1;
  for (size_t k = 0; k < inputs.size(); ++k) {
    Shape shape = inputs[k].shape();
    if (mapped[k]) {
      if (shape.empty() || (length >= 0 && shape[0] != length))
        fail<ValueError>("vmap", "an input of shape ", to_string(shape),
                         "; equal lengths of the mapped axis are accepted");
      length = shape[0];
      shape.erase(shape.begin());
    }
    slices.push_back(placeholder(std::move(shape), inputs[k].dtype(), "vmap"));
  }
  if (length < 0) fail<ValueError>("vmap", "no input is mapped; an axis of at least one is needed");
  return slices;
}

/// Each position's layout is that of the one before, one step further.
bool view_loop(const Node& node, const Layout& in, Layout& out) {
  const Node& slice = static_cast<const LoopAttrs&>(*node.attrs).node();
  Layout one{Shape(in.shape.begin() + 1, in.shape.end()),
             Strides(in.strides.begin() + 1, in.strides.end()), in.offset, in.dtype};
  Layout result{slice.shape, {}, 0, slice.dtype};
  if (!slice.op->view(slice, one, result)) return false;
  int64_t step = in.strides[0] * in.dtype.size();
  if (step % slice.dtype.size() != 0) return false;
  out.offset = result.offset;
  out.strides = result.strides;
  out.strides.insert(out.strides.begin(), step / slice.dtype.size());
  return true;
}

LoopBody body_of(const Attrs* attrs) {
  const auto& m = static_cast<const LoopAttrs&>(*attrs);
  return {&m.node(), &m.mapped};
}

}  // namespace

constinit const OpDef op_loop{.name = "loop",
                              .kind = OpKind::bundle,
                              .loop = body_of,
                              .build = build_loop,
                              .vjp = rules::loop_vjp,
                              .jvp = rules::loop_jvp};
constinit const OpDef op_loop_view{.name = "loop_view",
                                   .kind = OpKind::view,
                                   .build = build_loop,
                                   .view = view_loop,
                                   .vjp = rules::loop_vjp,
                                   .jvp = rules::loop_jvp};

bool LoopAttrs::equals(const Attrs& o) const {
  auto* other = dynamic_cast<const LoopAttrs*>(&o);
  if (!other || mapped != other->mapped) return false;
  const Node &a = node(), &b = other->node();
  bool same = a.op == b.op && a.shape == b.shape && a.dtype == b.dtype && same_outputs(a, b);
  return same && (a.attrs == b.attrs || (a.attrs && b.attrs && a.attrs->equals(*b.attrs)));
}
size_t LoopAttrs::hash() const {
  size_t h = detail::mix(reinterpret_cast<uintptr_t>(node().op), detail::hash_field(mapped));
  return node().attrs ? detail::mix(h, node().attrs->hash()) : h;
}
void LoopAttrs::visit(AttrVisitor&) {
  fail<ValueError>("export", "the op ", node().op->name,
                   ", which is run for each position of an axis, cannot be exported");
}

Arrays loop_built(const Arrays& inputs, const std::vector<bool>& mapped, Stream s,
                  const std::function<Arrays(const Arrays&)>& build) {
  Arrays slices = iteration_slices(inputs, mapped), made = build(slices);
  const Node* n = made.at(0).node();
  if (n->op->kind == OpKind::part) n = n->inputs()[0];
  bool maps = n->op->kind == OpKind::view || n->op->kind == OpKind::kernel || n->parts;
  auto node_of = [](const array& a) { return a.node(); };
  if (!maps || !std::ranges::equal(n->inputs(), slices, {}, {}, node_of))
    fail<ValueError>("vmap", "the op ", n->op->name,
                     " is not a single kernel or view of its inputs; such ops are accepted");
  std::vector<int> axes;
  for (bool m : mapped) axes.push_back(m ? 0 : -1);
  return make_loop(*n, inputs, axes, s).first;
}

rules::Batched make_loop(const Node& node, const Arrays& inputs, const std::vector<int>& axes,
                         Stream s) {
  Arrays in;
  std::vector<bool> mapped;
  for (size_t k = 0; k < inputs.size(); ++k) {
    mapped.push_back(axes[k] >= 0);
    in.push_back(rules::to_front(inputs[k], axes[k], s));
  }
  int64_t length = rules::batch_size(inputs, axes);
  Ref<const Attrs> attrs(new LoopAttrs(detached_copy(node), std::move(mapped)));
  Arrays out;
  if (node.op->kind == OpKind::view) {
    out.push_back(make_node(op_loop_view, rules::prepend(length, node.shape), node.dtype, s,
                            std::span<const array>(in), std::move(attrs)));
  } else {
    std::vector<std::pair<Shape, Dtype>> outputs;
    if (node.parts)
      for (const PartInfo& p : *node.parts)
        outputs.emplace_back(rules::prepend(length, p.shape), p.dtype);
    else
      outputs.emplace_back(rules::prepend(length, node.shape), node.dtype);
    out = make_bundle(op_loop, std::move(outputs), s, in, std::move(attrs));
  }
  std::vector<int> at(out.size(), 0);
  return {std::move(out), std::move(at)};
}

}  // namespace mlx::core
