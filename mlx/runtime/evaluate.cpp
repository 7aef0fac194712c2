// Evaluation: the list of the passes, the graphs and the calls that go through it, and the entry
// points of programs.
#include "mlx/runtime/evaluate.h"

#include <algorithm>
#include <optional>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/submitted.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/assign.h"
#include "mlx/runtime/call.h"
#include "mlx/runtime/debug.h"
#include "mlx/runtime/lower.h"
#include "mlx/runtime/passes.h"
#include "mlx/runtime/publish.h"
#include "mlx/runtime/rows.h"
#include "mlx/runtime/verify.h"

namespace mlx::core {

namespace {

using Executions = std::vector<std::unique_ptr<Execution>>;

bool plan_calls(Subject& s, Executions& out);

/// The list of the passes, for graphs and calls alike: up to `assign` without `out`. A form that
/// was planned before goes from `schedule` to `bind`, with the plan of then. Claims end after
/// `publish`: `prepare` may compile and `run` waits, so Evaluation::launch does both without any
/// lock.
///
/// The calls that a graph depends on come before it. An execution in `out` was published and must
/// run, also where this throws.
void run_passes(Subject& s, Executions* out) {
  do {
    run_pass(Pass::schedule, [&] { s.schedule(); });
    if (s.is_over()) return;
  } while (out && plan_calls(s, *out));
  s.find_plan();
  if (is_verifying()) verify_schedule(s.items);
  if (!s.plan) {
    run_pass(Pass::place, [&] { place(s.items, s.targets); });
    const bool fused = s.fused && is_enabled(Pass::fuse);
    run_pass(Pass::fuse, [&] { fuse(s.items, s.targets, s.groups, fused); });
    if (is_verifying()) verify_groups(s.items, s.groups);
    auto made = std::make_shared<Plan>();
    run_pass(Pass::lower, [&] { lower(s.items, s.targets, s.groups, *made); });
    if (is_verifying()) verify_steps(*made);
    if (fused && is_enabled(Pass::rows)) run_pass(Pass::rows, [&] { find_rows(s.targets, *made); });
    if (is_verifying()) verify_steps(*made);
    run_pass(Pass::assign, [&] { assign_memory(*made, is_enabled(Pass::assign)); });
    if (is_verifying()) verify_memory(*made);
    if (out) print_if_wanted(*made);
    s.keep_plan(std::move(made));
  }
  if (!out) return;
  run_pass(Pass::bind, [&] {
    const LeafValues leaves = s.leaves();
    s.execution =
        Execution::bind(s.plan, {leaves.data(), leaves.size()}, s.constants(), s.blocking);
  });
  run_pass(Pass::publish, [&] { s.publish(); });
  out->push_back(std::move(s.execution));
}

/// Plans a call, after the graph of its inputs, which is free of calls, and communication that the
/// program asked for before it.
void plan_call(const array& call, Arrays before, Subject& s, Executions& out) {
  if (call.node()->status == Status::available) return;
  Arrays pending = std::move(before);
  std::erase_if(pending, [](const array& a) { return a.node()->status == Status::available; });
  for (Node* in : call.node()->inputs()) {
    if (in->op == &op_constant)
      store_constant(in);
    else if (in->status == Status::pending)
      pending.emplace_back(in);
  }
  if (!pending.empty()) {
    GraphSubject inputs(s.claims, s.blocking, std::move(pending));
    run_passes(inputs, &out);
  }
  CallSubject subject(s.claims, s.blocking, call);
  run_passes(subject, &out);
}

/// Plans the calls among the items, which are no longer valid then; false where there are none.
bool plan_calls(Subject& s, Executions& out) {
  struct Planned {
    array call;
    Arrays before;
  };
  std::vector<Planned> calls;
  Arrays communication;
  for (const Item& item : s.items) {
    if (item.leaf) continue;
    if (item.node->op->communicates) communication.emplace_back(item.node);
    if (item.node->op != &op_call) continue;
    calls.push_back({array(item.node), {}});
    if (order_of(item.node) != 0) calls.back().before = std::exchange(communication, {});
  }
  if (calls.empty()) return false;
  communication.clear();
  s.items.clear();
  for (Planned& p : calls) plan_call(std::exchange(p.call, {}), std::move(p.before), s, out);
  return true;
}

/// True where the array has a value. Where a blocking caller has to wait for it, its event goes to
/// `waits`.
bool is_there(const array& a, bool blocking, std::vector<Ref<Event>>& waits) {
  (void)a.dtype();  // throws for null handles
  const Node* n = a.node();
  if (n->status == Status::pending) return is_pending_constant(n);
  if (blocking && n->value.storage && !n->value.storage->settled())
    waits.push_back(n->value.storage->ready);
  return true;
}

void wait_for_earlier(Event& e) {
  try {
    e.wait();
  } catch (...) {
    e.set_reported();
    throw;
  }
}

}  // namespace

Evaluation::Evaluation(Arrays outputs, bool blocking) : blocking_(blocking) {
  std::erase_if(outputs, [&](const array& a) { return is_there(a, blocking, waits_); });
  if (outputs.empty()) return;
  check_pass_variables();
  try {
    with_claims([&](Claims& claims) {
      GraphSubject graph(claims, blocking, outputs);
      run_passes(graph, &executions_);
    });
  } catch (...) {
    // Published work must run; the error comes after it.
    if (executions_.empty()) throw;
    error_ = std::current_exception();
    return;
  }
  // Work that another thread has started meanwhile is waited for, too.
  for (const array& a : outputs) {
    const Storage* s = a.node()->value.storage.get();
    auto ours = [&](const auto& x) {
      return std::ranges::find(x->done, s->ready) != x->done.end();
    };
    if (blocking && s && !s->settled() && std::ranges::none_of(executions_, ours))
      waits_.push_back(s->ready);
  }
}

Evaluation::Evaluation(Evaluation&&) noexcept = default;
Evaluation::~Evaluation() = default;

bool Evaluation::idle() const { return executions_.empty() && waits_.empty(); }

bool Evaluation::is_brief() const {
  return blocking_ && waits_.empty() && executions_.size() == 1 && executions_[0]->plan->is_brief();
}

/// The last passes. Work behind suspended work is kept with it.
void Evaluation::launch() {
  std::exception_ptr stopped;
  for (auto& x : executions_) {
    if (stopped) {
      x->suspend(stopped);
      continue;
    }
    run_pass(Pass::prepare, [&] { x->prepare(); });
    run_pass(Pass::run, [&] { x->run(); });
    if (blocking_) stopped = x->suspended();
  }
  if (stopped) std::rethrow_exception(stopped);
}

void Evaluation::run() {
  if (idle() && !error_) return;
  std::optional<BlockingRegion> region;
  if (!is_brief()) region.emplace();
  launch();
  if (blocking_) {
    for (const auto& e : waits_) wait_for_earlier(*e);
    for (const auto& x : executions_)
      for (const auto& e : x->done) e->wait_first();
  } else {
    for (const auto& x : executions_)
      for (size_t k = 0; k < x->done.size(); ++k)
        Submitted::of(x->plan->segments[k].stream).add(*x->done[k]);
  }
  if (error_) std::rethrow_exception(error_);
}

void eval(Arrays outputs) { Evaluation(std::move(outputs)).run(); }
void async_eval(Arrays outputs) {
  refuse_in_trace();
  Evaluation(std::move(outputs), false).run();
}

void refuse_in_trace() {
  if (current_trace() != 0)
    fail<ValueError>("async_eval",
                     "Not allowed inside a graph transformation, while a function is traced; eval "
                     "waits, and is accepted in functions under grad");
}

void array::eval() const {
  if (checked()->status == core::Status::available) return n_->value.storage->wait();
  if (is_pending_constant(n_))
    return with_claims([&](Claims& claims) {
      claims.claim(n_);
      store_constant(n_);
    });
  core::eval(Arrays{*this});
}

void synchronize(Stream s) {
  backend_of(s.device).synchronize(s);
  Submitted::of(s).settle();
}
void synchronize() { synchronize(to_stream({})); }
void synchronize(ThreadLocalStream s) { synchronize(stream_from_thread_local_stream(s)); }

std::shared_ptr<const Plan> plan_of(const Arrays& outputs, Claims& claims) {
  GraphSubject graph(claims, true, outputs);
  graph.shares_plans = false;
  run_passes(graph, nullptr);
  return graph.plan ? graph.plan : std::make_shared<const Plan>();
}

std::vector<std::string> plan_steps(const Arrays& outputs) {
  return with_claims([&](Claims& claims) { return plan_of(outputs, claims)->step_names(); });
}

void set_fusion(bool on) {
  enable_pass(Pass::fuse, on);
  clear_plan_cache();
}

void set_plan_cache(bool on) { enable_plan_cache(on); }

}  // namespace mlx::core
