// The passes `bind`, `prepare` and `run`: memory for the slots of a plan, its launches, and what
// stops them.
#include "mlx/runtime/execute.h"

#include "mlx/core/error.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/runtime/turn.h"

namespace mlx::core {

namespace {

std::atomic<uint64_t> launches{0};

/// Memory that the segment's launch writes, which ends in `end`.
Execution::Memory allocate(const Segment& segment, size_t bytes, const Ref<Event>& end) {
  Ref<Buffer> buffer = segment.backend->alloc(bytes, segment.stream);
  auto storage = make_ref<Storage>(buffer, bytes);
  storage->ready = end;
  return {std::move(storage), std::move(buffer)};
}

void add_event(std::vector<Ref<Event>>& list, const Ref<Event>& e) {
  for (const auto& known : list)
    if (known == e) return;
  list.push_back(e);
}

/// True where the last write may be part of an evaluation that is still being planned, perhaps this
/// one: a copy would wait for its launch.
bool may_be_planned(const Storage& storage) {
  return !storage.settled() && !storage.ready->completion();
}

/// Starts the copies of leaves to where they are read: a failure to get memory for them leaves the
/// graph as it was. Leaves of which that is not known start with the launch.
void bring_leaves(const Execution& x) {
  const Plan& plan = *x.plan;
  for (const Segment& seg : plan.segments) {
    for (int b : seg.transfers) {
      const Ref<Storage>& storage = x.memory[plan.home_of(seg.slots[b])].storage;
      Ref<Event> arrival;
      if (plan.slots[seg.slots[b]].kind == SlotKind::leaf && !storage->pinned() &&
          !may_be_planned(*storage))
        storage->bring(seg.space, seg.stream, arrival);
    }
  }
}

/// A launch that waits until its results are needed.
class SuspendedLaunch final : public SuspendedWork {
 public:
  SuspendedLaunch(Backend& backend, Launch launch) : backend_(backend), launch_(std::move(launch)) {
    launch_.done = {};  // the event owns this
  }
  std::vector<Ref<Event>>& after() override { return launch_.after; }
  void resume(Event& end) override {
    if (Stop stop = stopped_before(launch_.after, false))
      return end.suspend(std::move(stop),
                         std::make_unique<SuspendedLaunch>(backend_, std::move(launch_)));
    launch_.done = Ref<Event>(&end);
    launch_.blocking = true;
    try {
      backend_.launch(std::move(launch_));
    } catch (...) {
      end.fail(std::current_exception(), {nullptr});
    }
  }

 private:
  Backend& backend_;
  Launch launch_;
};

}  // namespace

uint64_t launch_count() { return launches.load(std::memory_order_relaxed); }

Execution::Execution(std::shared_ptr<const Plan> p)
    : plan(std::move(p)), memory(plan->slots.size()), done(plan->segments.size()) {
  for (auto& e : done) e = make_ref<Event>();
}

std::unique_ptr<Execution> Execution::bind(std::shared_ptr<const Plan> shared,
                                           std::span<const Value* const> leaves,
                                           std::vector<Scalar> constants, bool blocking) {
  auto x = std::make_unique<Execution>(std::move(shared));
  const Plan* plan = x->plan.get();
  x->blocking = blocking;
  x->constants = std::move(constants);
  x->starts.resize(plan->leaves.size());
  for (size_t i = 0; i < plan->slots.size(); ++i) {
    const Slot& s = plan->slots[i];
    if (s.home >= 0) continue;
    if (s.kind == SlotKind::leaf) {
      const Value& v = *leaves[s.leaf];
      x->memory[i].storage = v.storage;
      x->starts[s.leaf] = (v.offset - misalignment(v, s.itemsize)) * s.itemsize;
    } else if (s.kind == SlotKind::output && s.segment >= 0) {
      x->memory[i] = allocate(plan->segments[s.segment], s.bytes, x->done[s.segment]);
    } else if (s.kind == SlotKind::output) {
      x->memory[i].storage =
          make_ref<Storage>(host_backend().alloc(s.bytes, Stream(0, Device::cpu)), s.bytes);
    }
  }
  bring_leaves(*x);
  for (size_t i = 0; i < plan->slots.size(); ++i) {
    const Slot& s = plan->slots[i];
    auto& [storage, written] = x->memory[plan->home_of(static_cast<int>(i))];
    if (!storage || s.kind != SlotKind::output || s.segment < 0) continue;
    const Ref<Event>& end = x->done[s.segment];
    if (storage->ready == end) continue;
    // An input that is taken over: the work that wrote it must be over first.
    if (!storage->settled()) add_event(x->after, storage->ready);
    written = storage->start_write(plan->segments[s.segment].space, end);
  }
  return x;
}

Value Execution::value(const Result& r, int itemsize) const {
  return {memory[plan->home_of(r.slot)].storage, r.offset + start_of(r.slot) / itemsize, r.strides};
}

int64_t Execution::start_of(int slot) const {
  const Slot& s = plan->slots[slot];
  const Slot& home = plan->slots[plan->home_of(slot)];
  return (s.home < 0 ? 0 : s.home_offset) + (home.kind == SlotKind::leaf ? starts[home.leaf] : 0);
}

Launch Execution::make_launch(size_t index) {
  const Segment& seg = plan->segments[index];
  // Work that nothing waits for yet runs beside what comes next.
  const bool waits = blocking && (index + 1 == plan->segments.size() || seg.waited_for);
  Launch launch{.executable = plan->prepare()[index],
                .arguments = Arguments(seg.slots.size(), seg.constants.size()),
                .after = after,
                .done = done[index],
                .stream = seg.stream,
                .blocking = waits};
  for (size_t b = 0; b < seg.slots.size(); ++b) {
    int slot = seg.slots[b], home = plan->home_of(slot);
    int64_t offset = start_of(slot);
    const auto& [storage, written] = memory[home];
    if (!storage) {
      launch.arguments.bind(b, {}, offset + static_cast<int64_t>(plan->slots[home].arena_offset));
      continue;
    }
    // Its own outputs are not looked up in the storage, whose lock may be held by a thread that
    // waits for this launch.
    const bool written_here = storage->ready == done[index];
    Ref<Event> arrival;
    Ref<Buffer> buffer = written_here ? written : storage->bring(seg.space, seg.stream, arrival);
    if (arrival) add_event(launch.after, arrival);
    if (!waits && !written_here) add_event(launch.after, storage->reading());
    launch.arguments.bind(b, std::move(buffer), offset);
  }
  if (Ref<Event> turn = seg.communicates ? take_turn(seg.stream, done[index]) : Ref<Event>())
    launch.after.push_back(std::move(turn));
  for (size_t c = 0; c < seg.constants.size(); ++c)
    launch.arguments.add_constant(constants[seg.first_constant + c]);
  return launch;
}

void Execution::prepare() {
  try {
    plan->prepare();
  } catch (...) {
    launched_ = true;
    for (auto& e : done) e->fail(std::current_exception(), {nullptr});
  }
}

void Execution::launch(size_t index) {
  const Ref<Event>& end = done[index];
  if (!plan->prepare()[index]) return end->signal();
  launches.fetch_add(1, std::memory_order_relaxed);
  try {
    Launch launch = make_launch(index);
    Backend& backend = *plan->segments[index].backend;
    if (Stop stop = stopped_before(launch.after, blocking))
      end->suspend(std::move(stop), std::make_unique<SuspendedLaunch>(backend, std::move(launch)));
    else
      backend.launch(std::move(launch));
  } catch (...) {
    if (!end->done()) end->fail(std::current_exception(), {nullptr});
  }
  end->set_launched();
  note_reads(index);
}

/// A launch that the caller waits for keeps no reference to what it reads: it is done by now,
/// unless it runs on another thread or was suspended.
void Execution::note_reads(size_t index) {
  if (!blocking || done[index]->done()) return;
  for (int slot : plan->segments[index].slots) {
    const auto& storage = memory[plan->home_of(slot)].storage;
    if (storage && storage->ready != done[index]) storage->note_read();
  }
}

void Execution::run() {
  if (std::exchange(launched_, true)) return;
  for (size_t i = 0; i < done.size(); ++i) {
    launch(i);
    if (!done[i]->suspended()) continue;
    return suspend_from(i + 1, suspended());
  }
}

std::exception_ptr Execution::suspended() const {
  for (const auto& e : done)
    if (Stop stop = e->stopped()) return stop.error;
  return nullptr;
}

void Execution::suspend(const std::exception_ptr& error) {
  if (!std::exchange(launched_, true)) suspend_from(0, error);
}

void Execution::suspend_from(size_t index, const std::exception_ptr& error) {
  for (; index < done.size(); ++index) {
    const Ref<Event>& end = done[index];
    try {
      if (!plan->prepare()[index]) {
        end->signal();
        continue;
      }
      Backend& backend = *plan->segments[index].backend;
      end->suspend({error}, std::make_unique<SuspendedLaunch>(backend, make_launch(index)));
      note_reads(index);
    } catch (...) {
      end->fail(std::current_exception(), {nullptr});
    }
  }
}

Execution::~Execution() {
  if (launched_) return;
  for (auto& e : done)
    e->fail(std::make_exception_ptr(
                ExecutionError("[eval] an evaluation that was planned but never run")),
            {nullptr});
}

}  // namespace mlx::core
