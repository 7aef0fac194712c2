#include "mlx/runtime/call.h"

#include <algorithm>
#include <unordered_map>

#include "mlx/core/error.h"
#include "mlx/core/node_map.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/observe.h"

namespace mlx::core {

namespace {

struct CallAttrs final : Attrs {
  std::shared_ptr<Body> body;
  explicit CallAttrs(std::shared_ptr<Body> b) : body(std::move(b)) {}
  bool equals(const Attrs& o) const override {
    auto* other = dynamic_cast<const CallAttrs*>(&o);
    return other && other->body == body;
  }
  size_t hash() const override { return std::hash<const void*>{}(body.get()); }
  void visit(AttrVisitor&) override {
    fail<ValueError>("export", "a compiled function that is being evaluated cannot be exported");
  }
  Attrs* clone() const override { return new CallAttrs(body); }
};

const CallAttrs& call_of(const Attrs* a) { return *static_cast<const CallAttrs*>(a); }

Arrays build_call(const Arrays& inputs, const Attrs* attrs, Stream) {
  return make_call(call_of(attrs).body, inputs);
}

/// True where the call is the only one that looks at its input: its memory may be taken over.
bool is_dead_after(const Node& n) {
  if (n.refs.load(std::memory_order_relaxed) != 1 || n.op == &op_constant) return false;
  if (n.op->kind == OpKind::part || is_live(n.trace)) return false;
  const Storage* s = n.value.storage.get();
  return s->refs.load(std::memory_order_relaxed) == 1 && !s->pinned() && !s->borrowed() &&
         s->bytes() <= 2 * static_cast<size_t>(num_elements(n.shape)) * n.dtype.size();
}

}  // namespace

constinit const OpDef op_call{.name = "call", .kind = OpKind::bundle, .build = build_call};

Body& body_of(const Node& call) { return *call_of(call.attrs.get()).body; }

Arrays make_call(const std::shared_ptr<Body>& body, const Arrays& inputs) {
  const Arrays& outputs = body->outputs();
  array bundle = make_node(op_call, {}, outputs[0].dtype(), stream_of(outputs[0]), inputs,
                           Ref<const Attrs>(new CallAttrs(body)));
  auto* parts = bundle.node()->parts = new std::vector<PartInfo>;
  parts->reserve(outputs.size());
  Arrays results;
  results.reserve(outputs.size());
  for (const array& o : outputs) {
    parts->push_back({o.shape(), o.dtype(), {}});
    results.push_back(make_node(op_part, o.shape(), o.dtype(), Stream(o.node()->stream),
                                std::span<const array>(&bundle, 1)));
    results.back().node()->part = static_cast<uint16_t>(results.size() - 1);
  }
  return results;
}

Body::Body(Arrays inputs, Arrays outputs, Arrays captured, bool fused)
    : inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      captured_(std::move(captured)),
      fused_(fused) {}

void Body::describe(const Node& call) {
  form_.assign(1, watching());
  dead_.clear();
  for (const Node* n : call.inputs()) {
    const Value& v = value_of(*n);
    dead_.push_back(is_dead_after(*n));
    uint64_t owner = reinterpret_cast<uintptr_t>(&v.storage->backend());
    bool dense = is_row_contiguous(n->shape, v.strides);
    uint64_t phase = static_cast<uint64_t>(leaf_phase(v, n->dtype.size()));
    form_.push_back(owner << 8 | phase << 2 | uint64_t{dead_.back()} << 1 | uint64_t{dense});
    if (!dense) form_.insert(form_.end(), v.strides.begin(), v.strides.end());
  }
}

std::shared_ptr<const CallPlan> Body::plan_for(const Node& call) {
  describe(call);
  for (size_t k = 0; k < plans_.size(); ++k) {
    if (plans_[k]->form != form_) continue;
    std::rotate(plans_.begin(), plans_.begin() + k, plans_.begin() + k + 1);
    return plans_[0];
  }
  auto plan = make(call);
  if (plans_.size() == kMaxPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), plan);
  return plan;
}

std::shared_ptr<const CallPlan> Body::make(const Node& call) {
  NodeMap<int> source;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    inputs_[k].node()->value = value_of(*call.inputs()[k]);
    source[inputs_[k].node()] = static_cast<int>(k);
  }
  for (size_t k = 0; k < captured_.size(); ++k)
    source[captured_[k].node()] = -1 - static_cast<int>(k);
  Schedule items;
  schedule(outputs_, items, true);
  for (Item& item : items) {
    if (!item.leaf) item.held = item.kept = false;
    bool input = item.node->op == &op_placeholder;
    item.donatable = input && dead_[source.at(item.node)];
  }
  auto made = std::make_shared<CallPlan>();
  auto plan = std::make_shared<Plan>();
  std::vector<Unit> units;
  std::vector<int> unit_of;
  fuse(items, units, unit_of, fused_ && !(watching() & watch_nans));
  make_plan(items, units, unit_of, *plan);
  for (array& in : inputs_) in.node()->value = {};
  std::unordered_map<uint32_t, uint32_t> output;
  for (size_t k = 0; k < outputs_.size(); ++k)
    output[item_index(outputs_[k].node())] = static_cast<uint32_t>(k);
  for (Result& r : plan->results) r.item = output.at(r.item);
  for (uint32_t leaf : plan->leaves) made->sources.push_back(source.at(items[leaf].node));
  for (const Segment& seg : plan->segments) {
    auto& list = made->parameters.emplace_back();
    for (uint32_t i : seg.parameters) list.push_back(items[i].node->scalar());
  }
  made->steps = plan->step_names();
  prepare(*plan);
  made->plan = std::move(plan);
  made->form = form_;
  return made;
}

std::unique_ptr<Execution> Body::bind(const Node& call, bool blocking) {
  auto chosen = plan_for(call);
  std::vector<const Value*> leaves;
  leaves.reserve(chosen->sources.size());
  for (int s : chosen->sources)
    leaves.push_back(&value_of(s >= 0 ? *call.inputs()[s] : *captured_[-1 - s].node()));
  return Execution::bind(chosen->plan, leaves, chosen->parameters, blocking);
}

void publish_call(const Execution& x, Node& call) {
  for (const Result& r : x.plan->results) {
    PartInfo& part = (*call.parts)[r.item];
    part.value = x.value(r, part.dtype.size());
  }
  call.detach();
  call.status = Status::available;
}

}  // namespace mlx::core
