// Runs the passes up to `publish` over the graph behind some arrays.
#include "mlx/runtime/evaluate.h"

#include <cstdlib>
#include <iostream>

#include "mlx/runtime/call.h"
#include "mlx/runtime/observe.h"
#include "mlx/runtime/passes.h"
#include "mlx/runtime/plan_cache.h"
#include "mlx/runtime/publish.h"

namespace mlx::core {

namespace {

std::atomic<bool> plan_cache_on{true};

PlanCache& plan_cache() {
  static auto& cache = *new PlanCache;
  return cache;
}

bool debug_plan() {
  static const bool on = [] {
    const char* v = std::getenv("MLX_DEBUG");
    return v && std::string_view(v).find("plan") != std::string_view::npos;
  }();
  return on;
}

void make_plan(Evaluation& e) {
  e.fused = !(watching() & watch_nans);
  run_passes(e, Pass::place, Pass::assign);
  if (debug_plan())
    for (const auto& name : e.plan->step_names(true)) std::cerr << "step " << name << "\n";
}

/// Descriptions reuse its memory.
PlanForm& form_of_thread() {
  thread_local PlanForm form;
  return form;
}

/// Finds the plan to run: one of an earlier schedule of the same form where there is one.
void find_plan(Evaluation& e) {
  // A plan that is watched names the lines that built its nodes: it serves them only.
  bool shared = plan_cache_on.load(std::memory_order_relaxed) && watching() == 0;
  if (!shared) return make_plan(e);
  PlanForm& form = form_of_thread();
  if (!form.describe(e.items)) return make_plan(e);
  e.plan = plan_cache().find(form);
  if (e.plan) return;
  make_plan(e);
  plan_cache().keep(form, e.plan);
}

/// Binds what computes some arrays: the calls among what they depend on, each by a plan of its own,
/// and a plan for the rest.
class Binder {
 public:
  Binder(Claims& claims, bool blocking, Executions& out)
      : evaluation_(claims), claims_(claims), out_(out) {
    evaluation_.blocking = blocking;
  }

  void bind(Arrays todo) {
    std::erase_if(todo, [this](const array& a) { return has_value(a); });
    if (todo.empty()) return;
    Arrays calls = order(todo);
    if (!calls.empty()) {
      evaluation_.items.clear();
      for (array& c : calls) bind_call(std::exchange(c, {}));
      std::erase_if(todo, [this](const array& a) { return has_value(a); });
      if (todo.empty()) return;
      order(todo);
    }
    todo.clear();
    bind_graph();
  }

 private:
  /// Gives the array its value where that is known; false where it must be computed.
  bool has_value(const array& a) {
    Node* n = a.node();
    if (n->status == Status::available || is_pending_constant(n)) return true;
    claims_.claim(n);
    if (is_computed_part(n)) adopt(n);
    return n->status == Status::available;
  }

  /// Schedules the arrays; gives the calls among what they depend on.
  Arrays order(Arrays& todo) {
    evaluation_.outputs.swap(todo);
    run_passes(evaluation_, Pass::schedule, Pass::schedule);
    evaluation_.outputs.swap(todo);
    Arrays calls;
    for (const Item& item : evaluation_.items)
      if (!item.leaf && item.node->op == &op_call) calls.emplace_back(item.node);
    return calls;
  }

  void bind_graph() {
    find_plan(evaluation_);
    run_passes(evaluation_, Pass::bind, Pass::publish);
    evaluation_.items.clear();
    out_.push_back(std::move(evaluation_.execution));
  }

  /// The inputs of the call have values or are free of calls.
  void bind_call(array call) {
    if (call.node()->status == Status::available) return;
    Arrays pending;
    for (Node* in : call.node()->inputs()) {
      if (in->op == &op_constant)
        store_constant(in);
      else
        pending.emplace_back(in);
    }
    std::erase_if(pending, [this](const array& a) { return has_value(a); });
    if (!pending.empty()) {
      order(pending);
      pending.clear();
      bind_graph();
    }
    out_.push_back(body_of(*call.node()).bind(*call.node(), claims_, evaluation_.blocking));
    publish_call(*out_.back(), *call.node());
  }

  Evaluation evaluation_;
  Claims& claims_;
  Executions& out_;
};

}  // namespace

void bind_all(const Arrays& outputs, Claims& claims, bool blocking, Executions& out) {
  Binder(claims, blocking, out).bind(outputs);
}

std::shared_ptr<const Plan> plan_of(const Arrays& outputs, Claims& claims) {
  Evaluation e(claims);
  for (const array& a : outputs)
    if (a.node()->status == Status::pending && !is_constant(a)) e.outputs.push_back(a);
  run_passes(e, Pass::schedule, Pass::schedule);
  make_plan(e);
  return e.plan;
}

void enable_plan_cache(bool on) {
  plan_cache_on = on;
  clear_plan_cache();
}
void clear_plan_cache() { plan_cache().clear(); }

}  // namespace mlx::core
