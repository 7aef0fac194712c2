// Graphs on their way through the passes, and the plans that they share.
#include "mlx/runtime/subject.h"

#include "mlx/runtime/observe.h"
#include "mlx/runtime/plan_cache.h"
#include "mlx/runtime/publish.h"

namespace mlx::core {

namespace {

std::atomic<bool> plan_cache_on{true};

PlanCache& plan_cache() {
  static auto& cache = *new PlanCache;
  return cache;
}

/// Descriptions reuse its memory.
PlanForm& form_of_thread() {
  thread_local PlanForm form;
  return form;
}

/// Gives the array its value where that is known; false where it must be computed.
bool has_value(const array& a, Claims& claims) {
  Node* n = a.node();
  if (n->status == Status::available || is_pending_constant(n)) return true;
  claims.claim(n);
  if (is_computed_part(n)) adopt(n);
  return n->status == Status::available;
}

}  // namespace

void GraphSubject::schedule() {
  std::erase_if(outputs_, [this](const array& a) { return has_value(a, claims); });
  if (!outputs_.empty()) core::schedule(outputs_, claims, items);
}

void GraphSubject::find_plan() {
  // A plan that is watched names the lines that built its nodes: it serves them only.
  fused = !(watching() & watch_nans);
  shares_plans = shares_plans && plan_cache_on.load(std::memory_order_relaxed) && watching() == 0 &&
                 form_of_thread().describe(items);
  if (shares_plans) plan = plan_cache().find(form_of_thread());
}

void GraphSubject::keep_plan(std::shared_ptr<Plan> made) {
  plan = std::move(made);
  if (shares_plans) plan_cache().keep(form_of_thread(), plan);
}

LeafValues GraphSubject::leaves() const {
  LeafValues values;
  for (uint32_t i : plan->leaves) values.push_back(&value_of(*items[i].node));
  return values;
}

std::vector<Scalar> GraphSubject::constants() const {
  std::vector<Scalar> all;
  for (const Segment& seg : plan->segments)
    for (uint32_t i : seg.constants) all.push_back(items[i].node->scalar());
  return all;
}

void GraphSubject::publish() { core::publish(*execution, items); }

void enable_plan_cache(bool on) {
  plan_cache_on = on;
  clear_plan_cache();
}
void clear_plan_cache() { plan_cache().clear(); }

}  // namespace mlx::core
