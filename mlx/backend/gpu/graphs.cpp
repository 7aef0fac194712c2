// Recorded calls, and the graphs that make them.
#include "mlx/backend/gpu/graphs.h"

#include <algorithm>
#include <utility>

#include "mlx/backend/gpu/devices.h"

namespace mlx::core::gpu {

namespace {

/// Calls in the graphs of a queue, which have memory on the host and the device; and graphs, which
/// keep the modules of their kernels loaded.
constexpr size_t kMostInGraphs = size_t{1} << 16, kMostForms = 512;
/// Fewer calls are made one by one.
constexpr size_t kFewest = 2;

void mix(uint64_t& hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  hash ^= hash >> 32;
}
/// A number for calls that a graph can stand for, whatever the arguments of its kernels.
uint64_t form_of(const std::vector<DeviceCall>& calls) {
  uint64_t form = calls.size();
  for (const DeviceCall& c : calls) {
    mix(form, c.arguments.size());
    if (c.library) {
      for (int64_t word : c.arguments) mix(form, static_cast<uint64_t>(word));
    } else {
      mix(form, reinterpret_cast<uint64_t>(c.function.handle));
      mix(form, static_cast<uint64_t>(c.threads) << 32 | static_cast<uint32_t>(c.shared));
    }
  }
  return form;
}
/// Whether a graph with call `a` can make call `b`.
bool fits(const DeviceCall& a, const DeviceCall& b) {
  if (static_cast<bool>(a.library) != static_cast<bool>(b.library)) return false;
  if (a.library) return std::ranges::equal(a.arguments, b.arguments);
  return a.function.handle == b.function.handle && a.threads == b.threads && a.shared == b.shared &&
         a.arguments.size() == b.arguments.size();
}

thread_local Recorder* innermost = nullptr;

}  // namespace

//--- calls

void DeviceCalls::add(const DeviceCall& call) {
  list.push_back(call);
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
}
void DeviceCalls::clear() {
  list.clear();
  words.clear();
}
void DeviceCalls::place() {
  size_t first = 0;
  for (DeviceCall& c : list) {
    c.arguments = {words.data() + first, c.arguments.size()};
    first += c.arguments.size();
  }
}

//--- graphs

void GraphCache::clear() noexcept {
  // The driver is not called in a forked child, nor at the program's end.
  if (!serves())
    for (Graph& g : graphs_) static_cast<void>(g.graph.release());
  by_form_.clear();
  graphs_.clear();
  calls_ = 0;
}

void GraphCache::erase(Graphs::iterator g) noexcept {
  if (g->graph) calls_ -= g->calls.list.size();
  by_form_.erase(g->form);
  graphs_.erase(g);
}

GraphCache::Graphs::iterator GraphCache::make(uint64_t form, StreamHandle stream) {
  auto graph = hardware_.graph_of(pending.list, stream);
  graphs_.push_front({form, std::move(graph), {}});
  const auto made = graphs_.begin();
  by_form_[form] = made;
  made->calls = pending;
  made->calls.place();
  if (made->graph) calls_ += pending.list.size();
  while (calls_ > kMostInGraphs || graphs_.size() > kMostForms) erase(std::prev(graphs_.end()));
  return made;
}

bool GraphCache::launch(StreamHandle stream) {
  if (pending.list.size() < kFewest) return false;
  pending.place();
  const uint64_t form = form_of(pending.list);
  auto known = by_form_.find(form);
  Graphs::iterator g;
  if (known != by_form_.end()) {
    g = known->second;
    graphs_.splice(graphs_.begin(), graphs_, g);
  } else {
    uint64_t& seen = seen_[form % seen_.size()];
    if (std::exchange(seen, form) != form) return false;
    try {
      g = make(form, stream);
    } catch (...) {
      return false;  // the next launch tries again
    }
  }
  if (!g->graph || !std::ranges::equal(g->calls.list, pending.list, fits)) return false;
  try {
    for (size_t k = 0; k < pending.list.size(); ++k) {
      const DeviceCall &now = pending.list[k], &before = g->calls.list[k];
      if (now.blocks != before.blocks || !std::ranges::equal(now.arguments, before.arguments))
        g->graph->set(k, now);
    }
    g->graph->launch(stream);
    std::swap(g->calls, pending);
    return true;
  } catch (...) {
    // Calls one by one show which of them is the cause, if it is one.
    erase(g);
    return false;
  }
}

//--- records

Recorder::Recorder(Queue& queue, size_t calls)
    : queue_(queue),
      graphs_(queue.graphs()),
      pending_(graphs_.pending),
      hardware_(*queue.device().hardware),
      stream_(queue.stream()),
      records_(hardware_.graphs),
      outer_(innermost),
      most_(calls < kMany ? kMostCalls : kFirstCalls) {
  if (records_) innermost = this;
}
Recorder::~Recorder() {
  if (!records_) return;
  innermost = outer_;
  pending_.clear();
}
Recorder* Recorder::of(const Queue& queue) {
  for (Recorder* r = innermost; r; r = r->outer_)
    if (&r->queue_ == &queue) return r;
  return nullptr;
}

void Recorder::add(const DeviceCall& call) {
  if (failure_) std::rethrow_exception(failure_);
  pending_.add(call);
  steps_.push_back(step_);
  if (steps_.size() < most_) return;
  flush();
  most_ = std::min(most_ * kGrowth, kMostCalls);
}

void Recorder::flush() {
  if (failure_) std::rethrow_exception(failure_);
  ++calls_;
  if (steps_.empty()) return;
  try {
    if (!graphs_.launch(stream_)) call_one_by_one();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  pending_.clear();
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
  pending_.place();
  calls_ += steps_.size();
  const size_t current = step_;
  for (size_t k = 0; k < steps_.size(); ++k) {
    step_ = steps_[k];
    const DeviceCall& call = pending_.list[k];
    if (call.library)
      call.library(stream_);
    else
      hardware_.launch(call, stream_);
  }
  step_ = current;
}

}  // namespace mlx::core::gpu
