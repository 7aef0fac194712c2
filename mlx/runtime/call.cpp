// Calls of compiled functions: plans by the form of the inputs, bound to their values.
#include "mlx/runtime/call.h"

#include <algorithm>
#include <ranges>

#include "mlx/core/error.h"
#include "mlx/core/node_map.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/observe.h"
#include "mlx/runtime/passes.h"

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
  return n.refs.load(std::memory_order_acquire) == 1 && !is_live(n.trace) && memory_is_free(n);
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
    // An output may be data, which has no stream.
    const int32_t stream = o.node()->stream == kNoStream ? bundle.node()->stream : o.node()->stream;
    results.push_back(make_node(op_part, o.shape(), o.dtype(), Stream(stream),
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
    bool dense = is_row_contiguous(n->shape, v.strides);
    uint64_t at = static_cast<uint64_t>(misalignment(v, n->dtype.size()));
    form_.push_back(v.storage->present());
    form_.push_back(at << 2 | uint64_t{dead_.back()} << 1 | uint64_t{dense});
    if (!dense) form_.insert(form_.end(), v.strides.begin(), v.strides.end());
  }
}

std::vector<std::string> Body::steps() const {
  std::lock_guard lock(mutex_);
  return plans_.empty() ? std::vector<std::string>{} : plans_[0]->steps;
}

std::shared_ptr<const CallPlan> Body::find(const Node& call, Claims& claims) {
  describe(call);
  for (size_t k = 0; k < plans_.size(); ++k) {
    if (plans_[k]->form != form_) continue;
    std::rotate(plans_.begin(), plans_.begin() + k, plans_.begin() + k + 1);
    return plans_[0];
  }
  auto plan = make(call, claims);
  if (plans_.size() == kMaxPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), plan);
  return plan;
}

std::shared_ptr<const CallPlan> Body::plan_for(const Node& call, Claims& claims) {
  // Nobody waits for another evaluation with this lock, which that may want.
  Claims::Impatient give_way(claims);
  std::lock_guard lock(mutex_);
  return find(call, claims);
}

/// The placeholders have the values of a call's inputs while a plan is made.
class Body::BoundInputs {
 public:
  BoundInputs(const Arrays& inputs, const Node& call) : inputs_(inputs) {
    for (size_t k = 0; k < inputs.size(); ++k)
      inputs[k].node()->value = value_of(*call.inputs()[k]);
  }
  ~BoundInputs() {
    for (const array& in : inputs_) in.node()->value = {};
  }
  BoundInputs(const BoundInputs&) = delete;

 private:
  const Arrays& inputs_;
};

/// Where the value of a leaf comes from: input k, or -1 - k for captured array k. A node between
/// captured arrays and outputs may have been evaluated since the trace: it is captured then.
int Body::source_of(const Node* leaf) {
  auto same = [&](const array& a) { return a.node() == leaf; };
  if (auto in = std::ranges::find_if(inputs_, same); in != inputs_.end())
    return static_cast<int>(in - inputs_.begin());
  auto captured = std::ranges::find_if(captured_, same);
  if (captured == captured_.end())
    captured = captured_.insert(captured_.end(), array(const_cast<Node*>(leaf)));
  return -1 - static_cast<int>(captured - captured_.begin());
}

std::shared_ptr<const CallPlan> Body::make(const Node& call, Claims& claims) {
  BoundInputs bound(inputs_, call);
  NodeMap<int> input_of(inputs_.size());
  for (size_t k = 0; k < inputs_.size(); ++k) input_of[inputs_[k].node()] = static_cast<int>(k);
  Evaluation e(claims);
  e.outputs = outputs_;
  e.tracing = true;
  e.fused = fused_ && !(watching() & watch_nans);
  run_passes(e, Pass::schedule, Pass::schedule);
  for (Item& item : e.items) {
    if (!item.leaf) item.referenced = item.taped = false;
    item.donatable = item.node->op == &op_placeholder && dead_[*input_of.find(item.node)];
  }
  run_passes(e, Pass::place, Pass::assign);
  auto made = std::make_shared<CallPlan>();
  NodeMap<uint32_t> output_of(outputs_.size());
  for (size_t k = 0; k < outputs_.size(); ++k)
    output_of[outputs_[k].node()] = static_cast<uint32_t>(k);
  for (Result& r : e.made->results) r.item = *output_of.find(e.items[r.item].node);
  for (uint32_t leaf : e.made->leaves) {
    const Node* n = e.items[leaf].node;
    const int* input = input_of.find(n);
    made->sources.push_back(input ? *input : source_of(n));
  }
  for (const Segment& seg : e.made->segments)
    for (uint32_t i : seg.constants) made->constants.push_back(e.items[i].node->scalar());
  made->steps = e.made->step_names();
  made->plan = std::move(e.plan);
  made->form = form_;
  return made;
}

std::unique_ptr<Execution> Body::bind(const Node& call, Claims& claims, bool blocking) {
  std::shared_ptr<const CallPlan> chosen;
  std::vector<const Value*> leaves;
  Claims::Impatient give_way(claims);
  std::lock_guard lock(mutex_);
  chosen = find(call, claims);
  leaves.reserve(chosen->sources.size());
  for (int s : chosen->sources)
    leaves.push_back(&value_of(s >= 0 ? *call.inputs()[s] : *captured_[-1 - s].node()));
  return Execution::bind(chosen->plan, leaves, chosen->constants, blocking);
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
