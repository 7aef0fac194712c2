// Recorded calls, and the graphs that make them.
#include "mlx/backend/gpu/graphs.h"

#include <algorithm>
#include <utility>

#include "mlx/backend/gpu/devices.h"

namespace mlx::core::gpu {

namespace {

/// Calls in all graphs, whose number is bounded: a graph has memory on the host and the device.
std::atomic<int64_t> calls_in_graphs = 0;
constexpr int64_t kMostInGraphs = 1 << 16, kMostOfExecutable = 1 << 14;
/// A segment has a graph for each set of addresses that its libraries get, and for each choice of
/// kernels; no more than these.
constexpr size_t kMostGraphs = 16;
/// After so many launches in a row that had no graph for a segment, so many are not recorded.
constexpr int kMisses = 16, kUnrecorded = 256;
/// Fewer calls are made one by one.
constexpr size_t kFewest = 2;

/// Whether a graph with call `a` can make call `b`: kernels can get other arguments.
bool fits(const DeviceCall& a, const DeviceCall& b) {
  if (static_cast<bool>(a.library) != static_cast<bool>(b.library)) return false;
  if (a.library) return std::ranges::equal(a.arguments, b.arguments);
  return a.function.handle == b.function.handle && a.threads == b.threads && a.shared == b.shared &&
         a.arguments.size() == b.arguments.size();
}

}  // namespace

//--- calls

void LaunchGraphs::Calls::add(const DeviceCall& call) {
  list.push_back(call);
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
}
void LaunchGraphs::Calls::clear() {
  list.clear();
  words.clear();
}
void LaunchGraphs::Calls::place() {
  size_t first = 0;
  for (DeviceCall& c : list) {
    c.arguments = {words.data() + first, c.arguments.size()};
    first += c.arguments.size();
  }
}

//--- graphs

LaunchGraphs::~LaunchGraphs() {
  for (auto& s : segments_)
    for (Graph& g : s->graphs) {
      // The driver is not called in a forked child, nor at the program's end.
      if (!serves()) static_cast<void>(g.graph.release());
      drop(g);
    }
}

void LaunchGraphs::drop(Graph& g) {
  const auto count = static_cast<int64_t>(g.calls.list.size());
  calls_in_graphs -= count;
  in_graphs_ -= count;
  g.graph.reset();
  g.calls.clear();
}

void LaunchGraphs::drop_all(Segment& s) {
  for (Graph& g : s.graphs) drop(g);
  s.graphs.clear();
}

bool LaunchGraphs::begin() {
  if (unrecorded_ > 0) --unrecorded_;
  missed_ = false;
  return std::exchange(launched_, true) && unrecorded_ == 0;
}
void LaunchGraphs::end(size_t calls) {
  calls_ = calls;
  pending_.clear();
  misses_ = missed_ ? misses_ + 1 : 0;
  if (misses_ < kMisses) return;
  misses_ = 0;
  unrecorded_ = kUnrecorded;
  for (auto& s : segments_)
    if (s->graphs.size() == kMostGraphs) drop_all(*s);
}

LaunchGraphs::Graph* LaunchGraphs::find(Segment& s, uint64_t queue) {
  for (Graph& g : s.graphs)
    if (g.queue == queue && std::ranges::equal(g.calls.list, pending_.list, fits)) return &g;
  return nullptr;
}

LaunchGraphs::Graph* LaunchGraphs::make(Segment& s, uint64_t queue, StreamHandle stream) {
  if (s.graphs.size() == kMostGraphs) {
    missed_ = true;
    return nullptr;
  }
  const auto count = static_cast<int64_t>(pending_.list.size());
  if (calls_in_graphs + count > kMostInGraphs || in_graphs_ + count > kMostOfExecutable) {
    s.plain = s.graphs.empty();
    return nullptr;
  }
  Graph made{hardware_.graph_of(pending_.list, stream), queue, {}};
  if (!made.graph) {
    s.plain = true;
    return nullptr;
  }
  made.calls = pending_;
  made.calls.place();
  calls_in_graphs += count;
  in_graphs_ += count;
  s.graphs.push_back(std::move(made));
  return &s.graphs.back();
}

bool LaunchGraphs::launch(Segment& s, const Queue& queue, StreamHandle stream) {
  if (s.plain || pending_.list.size() < kFewest) return false;
  try {
    Graph* g = find(s, queue.id());
    if (!g && !(g = make(s, queue.id(), stream))) return false;
    for (size_t k = 0; k < pending_.list.size(); ++k) {
      const DeviceCall &now = pending_.list[k], &before = g->calls.list[k];
      if (now.blocks != before.blocks || !std::ranges::equal(now.arguments, before.arguments))
        g->graph->set(k, now);
    }
    g->graph->launch(stream);
    std::swap(g->calls, pending_);
    return true;
  } catch (...) {
    // Calls one by one show which of them is the cause, if it is one.
    drop_all(s);
    s.plain = true;
    return false;
  }
}

//--- records

namespace {
thread_local Recorder* innermost = nullptr;
}

Recorder::Recorder(const Queue& queue, LaunchGraphs& graphs)
    : queue_(queue), graphs_(graphs), outer_(innermost), stream_(queue.stream()) {
  if (!graphs.hardware_.graphs) return;
  lock_ = std::unique_lock(graphs.mutex_, std::try_to_lock);
  records_ = lock_ && graphs.begin();
  if (records_) innermost = this;
}
Recorder::~Recorder() {
  if (!records_) return;
  innermost = outer_;
  graphs_.end(calls_);
}
Recorder* Recorder::of(const Queue& queue) {
  for (Recorder* r = innermost; r; r = r->outer_)
    if (&r->queue_ == &queue) return r;
  return nullptr;
}

void Recorder::add(const DeviceCall& call) {
  if (failure_) std::rethrow_exception(failure_);
  graphs_.pending_.add(call);
  steps_.push_back(step_);
  if (steps_.size() == kMostCalls) flush();
}

void Recorder::flush() {
  if (failure_) std::rethrow_exception(failure_);
  ++calls_;
  if (steps_.empty()) return;
  try {
    graphs_.pending_.place();
    if (next_ == graphs_.segments_.size())
      graphs_.segments_.push_back(std::make_unique<LaunchGraphs::Segment>());
    if (!graphs_.launch(*graphs_.segments_[next_++], queue_, stream_)) call_one_by_one();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  graphs_.pending_.clear();
  steps_.clear();
}

std::exception_ptr Recorder::finish() noexcept {
  try {
    if (!failure_) flush();
  } catch (...) {  // kept
  }
  return failure_;
}

void Recorder::call_one_by_one() {
  calls_ += steps_.size();
  const size_t current = step_;
  for (size_t k = 0; k < steps_.size(); ++k) {
    step_ = steps_[k];
    const DeviceCall& call = graphs_.pending_.list[k];
    if (call.library)
      call.library(stream_);
    else
      graphs_.hardware_.launch(call, stream_);
  }
  step_ = current;
}

}  // namespace mlx::core::gpu
