// Calls of compiled functions: plans by the form of the inputs, bound to their values.
#include "mlx/runtime/call.h"

#include <algorithm>
#include <ranges>

#include "mlx/core/error.h"
#include "mlx/core/node_map.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/observe.h"

namespace mlx::core {

namespace {

struct CallAttrs final : Attrs {
  std::shared_ptr<Body> body;
  /// Of calls that communicate: the place among all communication, and a ticket for each op.
  uint64_t order = 0;
  std::vector<uint64_t> tickets;

  explicit CallAttrs(std::shared_ptr<Body> b) : body(std::move(b)) {
    if (body->communication().empty()) return;
    order = next_order();
    for (const Node* n : body->communication()) tickets.push_back(n->op->ticket(n->attrs.get()));
  }
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

uint64_t order_of_call(const Attrs* a) { return call_of(a).order; }

Arrays build_call(const Arrays& inputs, const Attrs* attrs, Stream) {
  return make_call(call_of(attrs).body, inputs);
}

/// True where the call is the only one that looks at its input: its memory may be taken over.
bool is_dead_after(const Node& n) {
  return n.refs.load(std::memory_order_acquire) == 1 && !is_live(n.trace) && memory_is_free(n);
}

}  // namespace

constinit const OpDef op_call{
    .name = "call", .kind = OpKind::bundle, .order = order_of_call, .build = build_call};

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
      fused_(fused) {
  NodeSet seen;
  std::vector<const Node*> stack;
  auto enter = [&](const Node* n) {
    if (n->status == Status::pending && seen.emplace(n).second) stack.push_back(n);
  };
  for (const array& o : outputs_) enter(o.node());
  while (!stack.empty()) {
    const Node* n = stack.back();
    stack.pop_back();
    if (n->op->communicates) communication_.push_back(n);
    if (n->op->kind == OpKind::leaf) continue;
    for (const Node* in : n->inputs()) enter(in);
  }
  std::ranges::sort(communication_, {}, order_of);
}

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

/// The plan for the form at hand, or null.
std::shared_ptr<const CallPlan> Body::find() {
  std::erase_if(plans_, [](const auto& p) { return p->plan->failed(); });
  for (size_t k = 0; k < plans_.size(); ++k) {
    if (plans_[k]->form != form_) continue;
    std::rotate(plans_.begin(), plans_.begin() + k, plans_.begin() + k + 1);
    return plans_[0];
  }
  return nullptr;
}

void Body::keep(std::shared_ptr<const CallPlan> plan) {
  if (plans_.size() == kMaxPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), std::move(plan));
}

/// The number of a captured array. A node between captured arrays and outputs may have been
/// evaluated since the trace: it is captured then.
int Body::capture(const Node* leaf) {
  auto at = std::ranges::find_if(captured_, [&](const array& a) { return a.node() == leaf; });
  if (at == captured_.end()) at = captured_.insert(at, array(const_cast<Node*>(leaf)));
  return static_cast<int>(at - captured_.begin());
}

CallSubject::BoundInputs::BoundInputs(const Arrays& inputs, const Node& call) : inputs_(inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) inputs[k].node()->value = value_of(*call.inputs()[k]);
}

CallSubject::BoundInputs::~BoundInputs() {
  for (const array& in : inputs_) in.node()->value = {};
}

CallSubject::CallSubject(Claims& claims, bool blocking, array call)
    : Subject(claims, blocking),
      call_(std::move(call)),
      body_(*call_of(call_.node()->attrs.get()).body),
      gives_way_(claims),
      lock_(body_.mutex_) {}

void CallSubject::schedule() { body_.describe(*call_.node()); }

void CallSubject::find_plan() {
  chosen_ = body_.find();
  if (chosen_) {
    plan = chosen_->plan;
    return;
  }
  bound_.emplace(body_.inputs_, *call_.node());
  fused = body_.fused_ && !(watching() & watch_nans);
  core::schedule(body_.outputs_, claims, items, true);
  for (size_t k = 0; k < body_.inputs_.size(); ++k)
    input_of_[body_.inputs_[k].node()] = static_cast<int>(k);
  for (Item& item : items) {
    if (!item.leaf) item.referenced = item.taped = false;
    item.donatable = item.node->op == &op_placeholder && body_.dead_[*input_of_.find(item.node)];
  }
}

void CallSubject::keep_plan(std::shared_ptr<Plan> made) {
  auto kept = std::make_shared<CallPlan>();
  NodeMap<uint32_t> output_of(body_.outputs_.size());
  for (size_t k = 0; k < body_.outputs_.size(); ++k)
    output_of[body_.outputs_[k].node()] = static_cast<uint32_t>(k);
  for (Result& r : made->results) r.item = *output_of.find(items[r.item].node);
  for (uint32_t leaf : made->leaves) {
    const Node* n = items[leaf].node;
    const int* input = input_of_.find(n);
    kept->sources.push_back(input ? *input : -1 - body_.capture(n));
  }
  NodeMap<size_t> ticket_of(body_.communication_.size());
  for (size_t k = 0; k < body_.communication_.size(); ++k)
    ticket_of[body_.communication_[k]->inputs().back()] = k;
  for (const Segment& seg : made->segments)
    for (uint32_t i : seg.constants) {
      if (const size_t* k = ticket_of.find(items[i].node))
        kept->tickets.emplace_back(kept->constants.size(), *k);
      kept->constants.push_back(items[i].node->scalar());
    }
  kept->steps = made->step_names();
  kept->form = body_.form_;
  kept->plan = plan = std::move(made);
  bound_.reset();
  chosen_ = kept;
  body_.keep(std::move(kept));
}

LeafValues CallSubject::leaves() const {
  LeafValues values;
  const auto inputs = call_.node()->inputs();
  for (int s : chosen_->sources)
    values.push_back(&value_of(s >= 0 ? *inputs[s] : *body_.captured_[-1 - s].node()));
  return values;
}

std::vector<Scalar> CallSubject::constants() const {
  std::vector<Scalar> all = chosen_->constants;
  const CallAttrs& call = call_of(call_.node()->attrs.get());
  for (auto [place, k] : chosen_->tickets) all[place] = Scalar::of(call.tickets[k]);
  return all;
}

void CallSubject::publish() {
  lock_.unlock();  // arrays that go may run code of the program
  Node& call = *call_.node();
  for (const Result& r : plan->results) {
    PartInfo& part = (*call.parts)[r.item];
    part.value = execution->value(r, part.dtype.size());
  }
  call.detach();
  call.status = Status::available;
}

}  // namespace mlx::core
