#include "mlx/runtime/eval.h"

#include <cstdlib>
#include <iostream>
#include <mutex>

#include "mlx/runtime/debug.h"
#include "mlx/runtime/execute.h"
#include "mlx/runtime/plan_cache.h"

namespace mlx::core {

namespace {

/// One evaluation is planned at a time: the scheduler leaves marks in the nodes.
std::mutex planning;

PlanCache& plan_cache() {
  static auto& cache = *new PlanCache;
  return cache;
}

bool debug_plan() {
  static bool on = [] {
    const char* v = std::getenv("MLX_DEBUG");
    return v && std::string_view(v).find("plan") != std::string_view::npos;
  }();
  return on;
}

std::shared_ptr<Plan> plan_for(const Schedule& items) {
  static std::vector<Unit> units;
  static std::vector<int> unit_of;
  auto plan = std::make_shared<Plan>();
  fuse(items, units, unit_of);
  make_plan(items, units, unit_of, *plan);
  return plan;
}

/// The plan to run: one of an earlier schedule of the same form where there is one.
std::shared_ptr<const Plan> prepared_plan(const Schedule& items) {
  PlanCache& cache = plan_cache();
  if (auto known = cache.find(items)) return known;
  auto plan = plan_for(items);
  if (debug_plan())
    for (const auto& name : plan->step_names()) std::cerr << "step " << name << "\n";
  prepare(*plan);
  cache.keep(plan);
  return plan;
}

/// Writes the results into their nodes and lets go of the graph behind them.
void publish(const Execution& x, const Schedule& items) {
  for (const Result& r : x.plan->results) {
    Node* n = items[r.item].node;
    Dtype dtype = r.part < 0 ? n->dtype : (*n->parts)[r.part].dtype;
    (r.part < 0 ? n->value : (*n->parts)[r.part].value) = x.value(r, dtype.size());
    n->status = Status::available;
  }
  // Outputs first: detaching them frees what nobody else looks at, and those nodes must not be
  // touched again. Results are all referenced from outside, so they stay.
  std::vector<Node*> detached;
  for (const Item& item : items)
    if (!item.leaf && item.stored() && !item.kept && item.node->status == Status::available)
      detached.push_back(item.node);
  for (Node* n : detached) n->detach();
}

/// Gives a result of a bundle that was computed before its value.
void adopt(Node* part) {
  std::lock_guard lock(planning);
  if (part->status == Status::available) return;
  part->value = value_of(*part);
  part->status = Status::available;
  if (part->level == 0 || part->level > trace_level()) part->detach();
}

}  // namespace

void set_fusion(bool on) {
  std::lock_guard lock(planning);
  fuse_chains(on);
  plan_cache().clear();
}

PendingEval::PendingEval() = default;
PendingEval::PendingEval(PendingEval&&) noexcept = default;
PendingEval::~PendingEval() = default;

bool PendingEval::idle() const { return !execution_ && waits_.empty(); }

void PendingEval::run() {
  if (execution_) execution_->run();
  for (const auto& e : waits_) e->wait();
}

PendingEval prepare_eval(Arrays outputs, bool blocking) {
  PendingEval pending;
  Arrays todo;
  for (array& a : outputs) {
    Node* n = a.node();
    if (n->op == &op_constant) continue;
    if (n->op->kind == OpKind::part && n->inputs()[0]->status == Status::available) adopt(n);
    if (n->status == Status::pending) {
      todo.push_back(std::move(a));
    } else if (blocking && n->value.storage->ready) {
      pending.waits_.push_back(n->value.storage->ready);
    }
  }
  if (todo.empty()) return pending;
  outputs.clear();
  std::lock_guard lock(planning);
  static Schedule items;
  schedule(todo, items);
  pending.execution_ = Execution::bind(prepared_plan(items), items, blocking);
  publish(*pending.execution_, items);
  items.clear();
  if (blocking)
    for (const auto& e : pending.execution_->done) pending.waits_.push_back(e);
  return pending;
}

void eval(Arrays outputs) { prepare_eval(std::move(outputs)).run(); }
void async_eval(Arrays outputs) { prepare_eval(std::move(outputs), false).run(); }

void array::eval() const {
  if (n_->status == Status::available) {
    if (auto ready = n_->value.storage->ready) ready->wait();
    return;
  }
  if (is_constant(*this)) {
    // A constant gets memory only when somebody asks for its address.
    Backend& host = host_backend();
    auto storage = make_ref<Storage>(host, host.alloc(16), itemsize());
    std::memcpy(storage->map(Access::write), n_->scalar().bytes, itemsize());
    n_->value = {std::move(storage), 0, {}};
    n_->status = Status::available;
    return;
  }
  core::eval(Arrays{*this});
}

void synchronize(Stream s) { backend_of(s.device).synchronize(s); }
void synchronize() { synchronize(to_stream({})); }
void synchronize(ThreadLocalStream s) { synchronize(stream_from_thread_local_stream(s)); }

std::vector<std::string> plan_steps(const Arrays& outputs) {
  std::lock_guard lock(planning);
  Arrays todo;
  for (const array& a : outputs)
    if (a.node()->status == Status::pending && !is_constant(a)) todo.push_back(a);
  Schedule items;
  schedule(todo, items);
  return plan_for(items)->step_names();
}

}  // namespace mlx::core
