#include "mlx/runtime/eval.h"

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/bind.h"
#include "mlx/runtime/debug.h"

namespace mlx::core {

void set_fusion(bool on) {
  std::lock_guard lock(planning_lock());
  fuse_chains(on);
  forget_plans();
}

void set_plan_cache(bool on) {
  std::lock_guard lock(planning_lock());
  keep_plans(on);
}

PendingEval::PendingEval() = default;
PendingEval::PendingEval(PendingEval&&) noexcept = default;
PendingEval::~PendingEval() = default;

bool PendingEval::idle() const { return executions_.empty() && waits_.empty(); }

void PendingEval::run() {
  if (idle() && !error_) return;
  BlockingRegion region;
  {
    UninterruptedRegion launching;  // arrays whose launch was left out would never be computed
    for (auto& x : executions_) x->run();
  }
  for (const auto& e : waits_) e->wait();
  if (error_) std::rethrow_exception(error_);
}

PendingEval prepare_eval(Arrays outputs, bool blocking) {
  PendingEval pending;
  // What is available needs no lock; what is not may become so on another thread until it is held.
  auto settle = [&](array& a) {
    Node* n = a.node();
    if (n->status == Status::pending) return false;
    if (blocking && n->op != &op_constant && n->value.storage->ready && !n->value.storage->intact)
      pending.waits_.push_back(n->value.storage->ready);
    return true;
  };
  Arrays todo;
  std::erase_if(outputs, settle);
  if (outputs.empty()) return pending;
  std::lock_guard lock(planning_lock());
  for (array& a : outputs) {
    if (a.node()->op == &op_constant) continue;
    if (is_computed_part(a.node())) adopt(a.node());
    if (!settle(a)) todo.push_back(std::move(a));
  }
  outputs.clear();
  if (todo.empty()) return pending;
  try {
    bind_all(std::move(todo), blocking, pending.executions_);
  } catch (...) {
    // What has been published must run; the error comes after it.
    if (pending.executions_.empty()) throw;
    pending.error_ = std::current_exception();
  }
  if (blocking)
    for (const auto& x : pending.executions_)
      for (const auto& e : x->done) pending.waits_.push_back(e);
  return pending;
}

void eval(Arrays outputs) { prepare_eval(std::move(outputs)).run(); }
void async_eval(Arrays outputs) {
  refuse_in_trace();
  prepare_eval(std::move(outputs), false).run();
}

void refuse_in_trace() {
  if (current_trace() != 0)
    fail<ValueError>("async_eval",
                     "called while a function is traced; eval waits, and is accepted "
                     "in functions under grad");
}

void array::eval() const {
  if (n_->status == Status::available) {
    return n_->value.storage->wait();
  }
  {
    std::lock_guard lock(planning_lock());  // another thread may be evaluating it
    if (n_->op == &op_constant) return store_constant(n_);
  }
  core::eval(Arrays{*this});
}

void synchronize(Stream s) { backend_of(s.device).synchronize(s); }
void synchronize() { synchronize(to_stream({})); }
void synchronize(ThreadLocalStream s) { synchronize(stream_from_thread_local_stream(s)); }

std::vector<std::string> plan_steps(const Arrays& outputs) {
  std::lock_guard lock(planning_lock());
  Arrays todo;
  for (const array& a : outputs)
    if (a.node()->status == Status::pending && !is_constant(a)) todo.push_back(a);
  Schedule items;
  schedule(todo, items);
  return plan_for(items)->step_names();
}

}  // namespace mlx::core
