// Control-flow ops: their attributes, and the checks of their inputs.
#include "mlx/ops/control.h"

#include <algorithm>

#include "mlx/core/error.h"

namespace mlx::core {

namespace {

Shape without_first(const Shape& s) { return Shape(s.begin() + !s.empty(), s.end()); }

bool has_type(const array& a, const Shape& shape, const array& like) {
  return shape == like.shape() && a.dtype() == like.dtype();
}

[[noreturn]] void refuse(const OpDef& op, const char* what) {
  fail<ValueError>(op.name, what, "; inputs that fit its functions are accepted");
}

using Types = std::vector<std::pair<Shape, Dtype>>;

Types types_of(const Arrays& arrays, int64_t first, int64_t last) {
  Types types;
  for (int64_t k = first; k < last; ++k) types.emplace_back(arrays[k].shape(), arrays[k].dtype());
  return types;
}

/// The inputs [at, at + n) have the types of a function's inputs from `first` on.
void check_inputs(const OpDef& op, const Arrays& in, int64_t at, int64_t n, const Subgraph& f,
                  int64_t first) {
  for (int64_t k = 0; k < n; ++k)
    if (!has_type(in[at + k], in[at + k].shape(), f.inputs()[first + k]))
      refuse(op, "an input of another shape or dtype");
}

/// Checks that the first `n` results of a function have the types of its inputs from `first` on.
void check_carried(const OpDef& op, const Subgraph& f, int64_t first, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (!has_type(f.outputs()[k], f.outputs()[k].shape(), f.inputs()[first + k]))
      refuse(op, "a carried value that changes its shape or dtype");
}

Types scan_types(const Arrays& in, const ControlAttrs& a) {
  const OpDef& op = op_scan_loop;
  if (a.functions.size() != 1 || a.shared < 0 || a.carried < 0 || a.length < 0)
    refuse(op, "no function or negative counts");
  const Subgraph& f = *a.functions[0];
  const auto n = static_cast<int64_t>(in.size()), fixed = a.shared + a.carried;
  if (n != static_cast<int64_t>(f.inputs().size()) || fixed > n ||
      a.carried > static_cast<int64_t>(f.outputs().size()))
    refuse(op, "a wrong number of inputs");
  check_inputs(op, in, 0, fixed, f, 0);
  for (int64_t k = fixed; k < n; ++k)
    if (in[k].ndim() == 0 || in[k].shape(0) != a.length ||
        !has_type(in[k], without_first(in[k].shape()), f.inputs()[k]))
      refuse(op, "slices of another shape or dtype");
  check_carried(op, f, a.shared, a.carried);
  Types out = types_of(f.outputs(), 0, a.carried);
  for (size_t k = a.carried; k < f.outputs().size(); ++k)
    out.emplace_back(rules::prepend(a.length, f.outputs()[k].shape()), f.outputs()[k].dtype());
  return out;
}

Types while_types(const Arrays& in, const ControlAttrs& a) {
  const OpDef& op = op_while_loop;
  if (a.functions.size() != 2 || a.shared < 0 || a.shared_body < 0 || a.carried < 1)
    refuse(op, "no two functions or negative counts");
  const Subgraph &condition = *a.functions[0], &body = *a.functions[1];
  auto size = [](const Arrays& list) { return static_cast<int64_t>(list.size()); };
  if (size(in) != a.shared + a.shared_body + a.carried ||
      size(condition.inputs()) != a.shared + a.carried ||
      size(body.inputs()) != a.shared_body + a.carried || size(body.outputs()) != a.carried ||
      size(condition.outputs()) != 1)
    refuse(op, "a wrong number of inputs");
  const array& holds = condition.outputs()[0];
  if (holds.dtype() != bool_ || holds.ndim() != 0) refuse(op, "a condition that is no bool scalar");
  const int64_t first = a.shared + a.shared_body;
  check_inputs(op, in, 0, a.shared, condition, 0);
  check_inputs(op, in, first, a.carried, condition, a.shared);
  check_inputs(op, in, a.shared, a.shared_body + a.carried, body, 0);
  check_carried(op, body, a.shared_body, a.carried);
  return types_of(body.outputs(), 0, a.carried);
}

Types switch_types(const Arrays& in, const ControlAttrs& a) {
  const OpDef& op = op_switch;
  if (a.functions.empty()) refuse(op, "no function");
  if (in.empty() || in[0].dtype() != int32 || in[0].ndim() != 0)
    refuse(op, "a number that is no int32 scalar");
  const auto n = static_cast<int64_t>(in.size()) - 1;
  const Arrays& first = a.functions[0]->outputs();
  for (const auto& f : a.functions) {
    if (static_cast<int64_t>(f->inputs().size()) != n || f->outputs().size() != first.size())
      refuse(op, "a wrong number of inputs");
    check_inputs(op, in, 1, n, *f, 0);
    for (size_t k = 0; k < first.size(); ++k)
      if (!has_type(f->outputs()[k], f->outputs()[k].shape(), first[k]))
        refuse(op, "functions whose results differ in shape or dtype");
  }
  return types_of(first, 0, static_cast<int64_t>(first.size()));
}

template <const OpDef& op>
Arrays build(const Arrays& inputs, const Attrs* attrs, Stream s) {
  return make_control(op, inputs, control_of(attrs), s);
}

}  // namespace

bool ControlAttrs::equals(const Attrs& o) const {
  auto* other = dynamic_cast<const ControlAttrs*>(&o);
  return other && shared == other->shared && shared_body == other->shared_body &&
         carried == other->carried && length == other->length && reverse == other->reverse &&
         checkpoint == other->checkpoint &&
         std::ranges::equal(functions, other->functions,
                            [](const auto& a, const auto& b) { return a->equals(*b); });
}

size_t ControlAttrs::hash() const {
  size_t h = functions.size();
  for (int64_t v : {shared, shared_body, carried, length, int64_t{reverse}})
    h = detail::mix(h, static_cast<size_t>(v));
  for (const auto& f : functions) h = detail::mix(h, f->hash());
  return h;
}

/// The numbers; files keep the functions as traces of their own.
void ControlAttrs::visit(AttrVisitor& v) {
  v.visit("shared", shared);
  v.visit("shared_body", shared_body);
  v.visit("carried", carried);
  v.visit("length", length);
  detail::visit_field(v, "reverse", reverse);
  detail::visit_field(v, "checkpoint", checkpoint);
}

Arrays make_control(const OpDef& op, const Arrays& inputs, ControlAttrs attrs, Stream s) {
  Types types = &op == &op_scan_loop    ? scan_types(inputs, attrs)
                : &op == &op_while_loop ? while_types(inputs, attrs)
                                        : switch_types(inputs, attrs);
  if (types.empty()) return {};
  return make_bundle(op, std::move(types), s, inputs,
                     Ref<const Attrs>(new ControlAttrs(std::move(attrs))));
}

constinit const OpDef op_scan_loop{.name = "scan_loop",
                                   .kind = OpKind::bundle,
                                   .build = build<op_scan_loop>,
                                   .vjp = rules::scan_loop_vjp,
                                   .jvp = rules::scan_loop_jvp,
                                   .vmap = rules::scan_loop_vmap};
constinit const OpDef op_while_loop{.name = "while_loop",
                                    .kind = OpKind::bundle,
                                    .build = build<op_while_loop>,
                                    .vjp = rules::while_loop_vjp,
                                    .jvp = rules::while_loop_jvp,
                                    .vmap = rules::while_loop_vmap};
constinit const OpDef op_switch{.name = "switch",
                                .kind = OpKind::bundle,
                                .build = build<op_switch>,
                                .vjp = rules::switch_vjp,
                                .jvp = rules::switch_jvp,
                                .vmap = rules::switch_vmap};

}  // namespace mlx::core
