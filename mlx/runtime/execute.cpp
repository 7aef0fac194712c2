#include "mlx/runtime/execute.h"

#include "mlx/runtime/eval.h"

namespace mlx::core {

namespace {

std::atomic<uint64_t> launches{0};

Ref<Storage> allocate(Backend& backend, size_t bytes) {
  return make_ref<Storage>(backend, backend.alloc(bytes), bytes);
}

int home_of(const Plan& plan, int slot) {
  return plan.slots[slot].home < 0 ? slot : plan.slots[slot].home;
}

void add_write(std::vector<Ref<Event>>& list, const Storage& storage) {
  const Ref<Event>& e = storage.ready;
  if (!e || storage.intact || (e->done() && !e->failed())) return;
  for (const auto& known : list)
    if (known == e) return;
  list.push_back(e);
}

/// Every event that a value waits for was made here.
LaunchEvent& launch_of(const Ref<Event>& e) { return static_cast<LaunchEvent&>(*e.get()); }

Launch make_launch(Execution& x, size_t index) {
  const Plan& plan = *x.plan;
  const Segment& seg = plan.segments[index];
  Launch launch;
  launch.executable = seg.executable;
  launch.parameters = std::move(x.parameters[index]);
  launch.after = x.after;
  launch.done = x.done[index];
  launch.stream = seg.stream;
  launch.blocking = x.blocking;
  launch.keep.reserve(seg.slots.size() + 1);
  if (x.arenas[index]) launch.keep.push_back(x.arenas[index]);
  launch.bindings.reserve(seg.slots.size());
  for (int slot : seg.slots) {
    int home = home_of(plan, slot);
    const Ref<Storage>& storage = x.storages[home];
    int64_t offset = x.start_of(slot);
    if (!storage) {
      const Slot& h = plan.slots[home];
      launch.bindings.push_back(
          {x.arenas[index]->buffer(), offset + static_cast<int64_t>(h.arena_offset)});
      continue;
    }
    bool elsewhere = &storage->backend() != seg.backend;
    if (storage->ready != x.done[index] && !elsewhere) add_write(launch.after, *storage);
    launch.bindings.push_back({storage->buffer_for(*seg.backend), offset});
    launch.keep.push_back(storage);
  }
  return launch;
}

}  // namespace

uint64_t launch_count() { return launches.load(std::memory_order_relaxed); }

std::unique_ptr<Execution> Execution::bind(std::shared_ptr<const Plan> plan,
                                           std::span<const Value* const> leaves,
                                           std::vector<std::vector<Scalar>> parameters,
                                           bool blocking) {
  auto x = std::make_unique<Execution>();
  x->blocking = blocking;
  x->parameters = std::move(parameters);
  x->storages.resize(plan->slots.size());
  x->starts.resize(plan->leaves.size());
  for (size_t i = 0; i < plan->slots.size(); ++i) {
    const Slot& s = plan->slots[i];
    if (s.home >= 0) continue;
    if (s.kind == SlotKind::leaf) {
      const Value& v = *leaves[s.leaf];
      x->storages[i] = v.storage;
      x->starts[s.leaf] = (v.offset - leaf_phase(v, s.itemsize)) * s.itemsize;
    } else if (s.kind == SlotKind::output) {
      Backend& b = s.segment < 0 ? host_backend() : *plan->segments[s.segment].backend;
      x->storages[i] = allocate(b, s.bytes);
    }
  }
  x->arenas.reserve(plan->segments.size());
  x->done.reserve(plan->segments.size());
  for (const Segment& seg : plan->segments) {
    x->arenas.push_back(seg.arena_bytes ? allocate(*seg.backend, seg.arena_bytes) : nullptr);
    x->done.push_back(make_ref<LaunchEvent>());
  }
  for (size_t i = 0; i < plan->slots.size(); ++i) {
    const Slot& s = plan->slots[i];
    auto& storage = x->storages[home_of(*plan, static_cast<int>(i))];
    if (!storage || s.kind != SlotKind::output || s.segment < 0) continue;
    // An input that is taken over: what wrote it before must be over first.
    if (storage->ready != x->done[s.segment]) add_write(x->after, *storage);
    storage->ready = x->done[s.segment];
    storage->intact = false;
  }
  x->plan = std::move(plan);
  return x;
}

Value Execution::value(const Result& r, int itemsize) const {
  return {storages[home_of(*plan, r.slot)], r.offset + start_of(r.slot) / itemsize, r.strides};
}

int64_t Execution::start_of(int slot) const {
  const Slot& s = plan->slots[slot];
  const Slot& home = plan->slots[home_of(*plan, slot)];
  return (s.home < 0 ? 0 : s.home_offset) + (home.kind == SlotKind::leaf ? starts[home.leaf] : 0);
}

void Execution::run() {
  for (size_t i = 0; i < plan->segments.size(); ++i) {
    if (!plan->segments[i].executable) {
      done[i]->signal();
      launch_of(done[i]).set_launched();
      continue;
    }
    launches.fetch_add(1, std::memory_order_relaxed);
    try {
      Launch launch = make_launch(*this, i);
      for (const auto& e : launch.after) launch_of(e).wait_launched();
      plan->segments[i].backend->launch(std::move(launch));
    } catch (...) {
      if (!done[i]->done()) done[i]->fail(std::current_exception());
    }
    launch_of(done[i]).set_launched();
  }
}

}  // namespace mlx::core
