// Bookkeeping of active transformations.
#include "mlx/core/trace.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "mlx/core/error.h"

namespace mlx::core {

namespace {

constexpr Trace kDepth = 0xff;

thread_local constinit Trace innermost_trace = 0;
thread_local ShapeWatch* innermost_watch = nullptr;

Trace outermost(Trace t) { return t & ~kDepth; }

/// The active outermost transformations of all threads; at most one per thread.
class OutermostTraces {
 public:
  Trace begin() {
    std::lock_guard lock(mutex_);
    running_.push_back(latest_.fetch_add(kDepth + 1) + kDepth + 1);
    count_.store(running_.size(), std::memory_order_relaxed);
    return running_.back();
  }
  void end(Trace t) {
    std::lock_guard lock(mutex_);
    std::erase(running_, t);
    count_.store(running_.size(), std::memory_order_relaxed);
  }
  bool runs(Trace t) {
    std::lock_guard lock(mutex_);
    return std::find(running_.begin(), running_.end(), t) != running_.end();
  }
  /// Greater than every past trace, smaller than every later one.
  Trace latest() const { return latest_.load(std::memory_order_relaxed) | kDepth; }
  size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<Trace> running_;
  std::atomic<size_t> count_{0};
  std::atomic<Trace> latest_{0};
};

OutermostTraces& all_threads() {
  static auto& all = *new OutermostTraces;
  return all;
}

/// Numbers the watches of this thread; 0 stands for none. They wrap around: a node that was made
/// 32,768 watches ago counts as new, which is the careful answer.
uint16_t next_watch() {
  thread_local constinit uint16_t last = 0;
  return ++last ? last : ++last;
}

}  // namespace

TraceScope::TraceScope() {
  if (innermost_trace == 0) innermost_trace = all_threads().begin();
  if ((innermost_trace & kDepth) == kDepth)
    fail<ValueError>("trace", "transformations nested over 255 deep");
  ++innermost_trace;
}

TraceScope::~TraceScope() {
  --innermost_trace;
  if ((innermost_trace & kDepth) != 0) return;
  all_threads().end(innermost_trace);
  innermost_trace = 0;
}

Trace current_trace() { return innermost_trace; }
bool any_trace_runs() { return all_threads().count() > 0; }

bool is_live(Trace t) {
  if (t == 0) return false;
  const Trace own = outermost(innermost_trace);
  // A newer trace may depend on this thread's transformation by way of another thread.
  if (own != 0 && t > own) return true;
  return all_threads().count() > (own != 0) && all_threads().runs(outermost(t));
}

bool is_open(Trace t) {
  return outermost(t) == outermost(innermost_trace) ? t <= innermost_trace : is_live(t);
}

ShapeWatch::ShapeWatch()
    : outside_(innermost_trace ? innermost_trace : all_threads().latest()),
      outer_(innermost_watch),
      number_(next_watch()),
      before_(set_node_watch(number_)) {
  innermost_watch = this;
}
ShapeWatch::~ShapeWatch() {
  innermost_watch = outer_;
  set_node_watch(before_);
}

void note_shape_read(const array& a) {
  for (ShapeWatch* w = innermost_watch; w; w = w->outer_)
    if (a.node()->trace > w->outside_) w->read_ = true;
}

}  // namespace mlx::core
