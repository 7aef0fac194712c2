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

Trace outermost(Trace t) { return t & ~kDepth; }

// Python code within a transformation may continue on another stack (greenlets), whose
// transformations then begin and end in any order: the lists here hold nothing of the stack.
thread_local constinit Trace innermost_trace = 0;
/// The first active transformation with the outermost one of `innermost_trace`.
thread_local constinit Trace first_trace = 0;
thread_local std::vector<Trace> active_traces;
thread_local constinit ShapeWatch::State* innermost_watch = nullptr;

thread_local constinit int recordings = 0;

void note_active_traces() {
  innermost_trace = first_trace = 0;
  if (active_traces.empty()) return;
  innermost_trace = *std::ranges::max_element(active_traces);
  first_trace = innermost_trace;
  for (Trace t : active_traces)
    if (outermost(t) == outermost(innermost_trace)) first_trace = std::min(first_trace, t);
}

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
  if (active_traces.size() >= kDepth)
    fail<ValueError>("trace", "transformations nested over 255 deep");
  // Transformations that overlap without nesting use up the numbers of depth.
  const bool full = (innermost_trace & kDepth) == kDepth;
  own_ = (innermost_trace == 0 || full ? all_threads().begin() : innermost_trace) + 1;
  active_traces.push_back(own_);
  note_active_traces();
}

TraceScope::~TraceScope() {
  std::erase(active_traces, own_);
  note_active_traces();
  const auto is_same = [this](Trace t) { return outermost(t) == outermost(own_); };
  if (std::ranges::none_of(active_traces, is_same)) all_threads().end(outermost(own_));
}

RecordingScope::RecordingScope() { ++recordings; }
RecordingScope::~RecordingScope() { --recordings; }
bool is_recording() { return recordings > 0; }

Trace current_trace() { return innermost_trace; }
bool any_trace_runs() { return all_threads().count() > 0; }

bool is_live(Trace t) {
  if (t == 0) return false;
  const Trace own = outermost(innermost_trace);
  if (own != 0 && outermost(t) == own) return t >= first_trace;
  // A newer trace may depend on this thread's transformation by way of another thread.
  if (own != 0 && t > own) return true;
  return all_threads().count() > (own != 0) && all_threads().runs(outermost(t));
}

bool is_open(Trace t) {
  return outermost(t) == outermost(innermost_trace) ? t <= innermost_trace : is_live(t);
}

ShapeWatch::ShapeWatch()
    : state_(new State{.outside = innermost_trace ? innermost_trace : all_threads().latest(),
                       .number = next_watch(),
                       .outer = innermost_watch}) {
  if (innermost_watch) innermost_watch->inner = state_.get();
  innermost_watch = state_.get();
  set_node_watch(state_->number);
}
ShapeWatch::~ShapeWatch() {
  State *outer = state_->outer, *inner = state_->inner;
  if (outer) outer->inner = inner;
  (inner ? inner->outer : innermost_watch) = outer;
  set_node_watch(innermost_watch ? innermost_watch->number : 0);
}

void note_shape_read(const array& a) {
  for (ShapeWatch::State* w = innermost_watch; w; w = w->outer)
    if (a.node()->trace > w->outside) w->read = true;
}

}  // namespace mlx::core
