#include "mlx/runtime/bind.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "mlx/core/trace.h"
#include "mlx/runtime/call.h"
#include "mlx/runtime/observe.h"
#include "mlx/runtime/plan_cache.h"

namespace mlx::core {

namespace {

bool plans_are_kept = true;

PlanCache& plan_cache() {
  static auto& cache = *new PlanCache;
  return cache;
}

}  // namespace

std::shared_ptr<Plan> plan_for(const Schedule& items) {
  static std::vector<Unit> units;
  static std::vector<int> unit_of;
  auto plan = std::make_shared<Plan>();
  fuse(items, units, unit_of, !(watching() & watch_nans));
  make_plan(items, units, unit_of, *plan);
  return plan;
}

void adopt(Node* part) {
  if (part->status == Status::available) return;
  part->value = value_of(*part);
  if (!is_live(part->trace)) part->detach();
  part->status = Status::available;
}

void store_constant(Node* constant) {
  if (constant->status == Status::available) return;
  Backend& host = host_backend();
  int bytes = constant->dtype.size();
  auto storage = make_ref<Storage>(host, host.alloc(16), bytes);
  std::memcpy(storage->map(Access::write), constant->scalar().bytes, bytes);
  constant->value = {std::move(storage), 0, {}};
  constant->status = Status::available;
}

bool is_computed_part(const Node* n) {
  return n->status == Status::pending && n->op->kind == OpKind::part &&
         n->inputs()[0]->status == Status::available;
}

namespace {

bool debug_plan() {
  static bool on = [] {
    const char* v = std::getenv("MLX_DEBUG");
    return v && std::string_view(v).find("plan") != std::string_view::npos;
  }();
  return on;
}

/// The plan to run: one of an earlier schedule of the same form where there is one.
std::shared_ptr<const Plan> prepared_plan(const Schedule& items) {
  // A plan that is watched names the lines that built its nodes: it serves them only.
  bool shared = plans_are_kept && watching() == 0;
  if (shared)
    if (auto known = plan_cache().find(items)) return known;
  auto plan = plan_for(items);
  if (debug_plan())
    for (const auto& name : plan->step_names()) std::cerr << "step " << name << "\n";
  prepare(*plan);
  if (shared) plan_cache().keep(plan);
  return plan;
}

/// Writes the results into their nodes and lets go of the graph behind them.
void publish(const Execution& x, const Schedule& items) {
  for (const Result& r : x.plan->results) {
    Node* n = items[r.item].node;
    Dtype dtype = r.part < 0 ? n->dtype : (*n->parts)[r.part].dtype;
    (r.part < 0 ? n->value : (*n->parts)[r.part].value) = x.value(r, dtype.size());
  }
  // Detaching an output frees what nobody else looks at, which may be another result that only the
  // graph behind it holds: inputs first, then nothing is touched once it is gone. The status is
  // last: other threads may read a node as soon as it says so.
  SmallVector<uint32_t, 8> computed;
  for (const Result& r : x.plan->results) computed.push_back(r.item);
  std::sort(computed.begin(), computed.end());
  const uint32_t* end = std::unique(computed.begin(), computed.end());
  for (const uint32_t* i = computed.begin(); i != end; ++i) {
    const Item& item = items[*i];
    if (!item.kept) item.node->detach();
    item.node->status = Status::available;
  }
}

/// Binds what computes some arrays: the calls among what they depend on, each by a plan of its own,
/// and a plan for the rest.
class Binder {
 public:
  Binder(bool blocking, Executions& out) : blocking_(blocking), out_(out) {}

  void bind(Arrays todo) {
    static Schedule items;
    schedule(todo, items);
    Arrays calls;
    for (const Item& item : items)
      if (!item.leaf && item.node->op == &op_call) calls.emplace_back(item.node);
    if (calls.empty()) return bind_graph(items);
    items.clear();
    for (array& c : calls) bind_call(std::exchange(c, {}));
    Arrays rest;
    for (array& a : todo)
      if (!settle(a)) rest.push_back(std::move(a));
    todo.clear();
    if (rest.empty()) return;
    schedule(rest, items);
    bind_graph(items);
  }

 private:
  /// Gives the array its value where that is known; false where it must be computed.
  static bool settle(const array& a) {
    if (is_computed_part(a.node())) adopt(a.node());
    return a.node()->status == Status::available;
  }

  void bind_graph(Schedule& items) {
    auto plan = prepared_plan(items);
    SmallVector<const Value*, 16> leaves;
    for (uint32_t i : plan->leaves) leaves.push_back(&value_of(*items[i].node));
    std::vector<std::vector<Scalar>> parameters(plan->segments.size());
    for (size_t k = 0; k < parameters.size(); ++k) {
      parameters[k].reserve(plan->segments[k].parameters.size());
      for (uint32_t i : plan->segments[k].parameters)
        parameters[k].push_back(items[i].node->scalar());
    }
    out_.push_back(Execution::bind(std::move(plan), leaves, std::move(parameters), blocking_));
    publish(*out_.back(), items);
    items.clear();
  }

  /// The inputs of the call have values or are free of calls.
  void bind_call(array call) {
    if (call.node()->status == Status::available) return;
    Arrays pending;
    for (Node* in : call.node()->inputs()) {
      if (in->op == &op_constant)
        store_constant(in);
      else if (!settle(array(in)))
        pending.emplace_back(in);
    }
    if (!pending.empty()) {
      Schedule items;
      schedule(pending, items);
      bind_graph(items);
      pending.clear();
    }
    out_.push_back(body_of(*call.node()).bind(*call.node(), blocking_));
    publish_call(*out_.back(), *call.node());
  }

  bool blocking_;
  Executions& out_;
};

}  // namespace

EngineMutex& planning_lock() {
  static auto& mutex = *new EngineMutex;
  return mutex;
}

void bind_all(Arrays todo, bool blocking, Executions& out) {
  Binder(blocking, out).bind(std::move(todo));
}

void keep_plans(bool on) {
  plans_are_kept = on;
  forget_plans();
}
void forget_plans() { plan_cache().clear(); }

}  // namespace mlx::core
