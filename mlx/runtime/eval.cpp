// The entry points of evaluation: what has to be computed or waited for, and in which order.
#include "mlx/runtime/eval.h"

#include <algorithm>
#include <optional>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/debug.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/runtime/passes.h"
#include "mlx/runtime/publish.h"
#include "mlx/runtime/unseen_errors.h"

namespace mlx::core {

void set_fusion(bool on) {
  enable_pass(Pass::fuse, on);
  clear_plan_cache();
}

void set_plan_cache(bool on) { enable_plan_cache(on); }

PendingEval::PendingEval() = default;
PendingEval::PendingEval(PendingEval&&) noexcept = default;
PendingEval::~PendingEval() = default;

bool PendingEval::idle() const { return executions_.empty() && waits_.empty(); }

bool PendingEval::is_brief() const {
  return blocking_ && waits_.empty() && executions_.size() == 1 && executions_[0]->plan->is_brief();
}

/// What comes after work that was suspended is kept with it.
void PendingEval::launch() {
  std::exception_ptr stopped;
  for (auto& x : executions_) {
    if (stopped) {
      x->suspend(stopped);
      continue;
    }
    run_execution(*x);
    if (blocking_) stopped = x->suspended();
  }
  if (stopped) std::rethrow_exception(stopped);
}

namespace {

void wait_for_earlier(Event& e) {
  try {
    e.wait();
  } catch (...) {
    e.set_reported();
    throw;
  }
}

}  // namespace

void PendingEval::run() {
  if (idle() && !error_) return;
  std::optional<BlockingRegion> region;
  if (!is_brief()) region.emplace();
  launch();
  if (blocking_) {
    for (const auto& e : waits_) wait_for_earlier(*e);
    for (const auto& x : executions_)
      for (const auto& e : x->done) e->wait_first();
  } else {
    for (const auto& x : executions_) watch_errors(*x);
  }
  if (error_) std::rethrow_exception(error_);
}

namespace {

/// True where the array has a value. What still has to be waited for goes to `waits`.
bool has_value(const array& a, bool blocking, std::vector<Ref<Event>>& waits) {
  (void)a.dtype();  // throws for null handles
  const Node* n = a.node();
  if (n->status == Status::pending) return is_pending_constant(n);
  if (blocking && n->value.storage && !n->value.storage->settled())
    waits.push_back(n->value.storage->ready);
  return true;
}

}  // namespace

PendingEval prepare_eval(Arrays outputs, bool blocking) {
  PendingEval pending;
  pending.blocking_ = blocking;
  std::erase_if(outputs, [&](const array& a) { return has_value(a, blocking, pending.waits_); });
  if (outputs.empty()) return pending;
  try {
    with_claims([&](Claims& claims) { bind_all(outputs, claims, blocking, pending.executions_); });
  } catch (...) {
    // What has been published must run; the error comes after it.
    if (pending.executions_.empty()) throw;
    pending.error_ = std::current_exception();
    return pending;
  }
  // What another thread has computed meanwhile is waited for, too.
  for (const array& a : outputs) {
    const Storage* s = a.node()->value.storage.get();
    auto ours = [&](const auto& x) {
      return std::ranges::find(x->done, s->ready) != x->done.end();
    };
    if (blocking && s && !s->settled() && std::ranges::none_of(pending.executions_, ours))
      pending.waits_.push_back(s->ready);
  }
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
  throw_unseen_error(s);
}
void synchronize() { synchronize(to_stream({})); }
void synchronize(ThreadLocalStream s) { synchronize(stream_from_thread_local_stream(s)); }

std::vector<std::string> plan_steps(const Arrays& outputs) {
  return with_claims([&](Claims& claims) { return plan_of(outputs, claims)->step_names(); });
}

}  // namespace mlx::core
