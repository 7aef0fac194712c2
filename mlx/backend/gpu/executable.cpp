// Launches of prepared steps as jobs of a queue.
#include "mlx/backend/gpu/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <system_error>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/common/steps.h"
#include "mlx/backend/gpu/borrow.h"
#include "mlx/backend/gpu/graphs.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom.h"
#include "mlx/ops/custom_device.h"

namespace mlx::core::gpu {

namespace {

/// A device takes so many calls at once; a thread that makes more waits for it.
constexpr size_t kManySteps = 256;

struct Prepared {
  Step step;
  bool watched = false;
  std::unique_ptr<const OpKernel> kernel = {};
  std::unique_ptr<const BorrowedStep> borrowed = {};
  std::exception_ptr refusal = {};  ///< of a step that has no kernel, such as code with errors
  uint64_t given = 0;               ///< as Enqueue has it
};
struct GpuExecutable final : Executable {
  explicit GpuExecutable(DeviceState& device) : device(device) {}
  DeviceState& device;
  std::vector<Prepared> steps;
  size_t arena_bytes = 0, launches = 0;
  bool waits = false, communicates = false, watched = false;
  mutable std::atomic<size_t> calls = SIZE_MAX;  ///< of the device in the last launch
  const LastWait last_wait = std::make_shared<std::atomic<int64_t>>(0);
  StepSlots slots(size_t i) const { return slots_of(steps[i].step); }
};

bool is_primitive(const Step& s) { return s.op == &op_primitive || s.op == &op_primitive_bundle; }

/// An array over operand k of a step, at a position of the step's loop. `arena`: the memory of
/// bindings without a buffer.
array operand_array(const Step& step, int k, const Shape& at, const Launch& launch, Buffer* arena) {
  const Binding& b = launch.arguments.bindings()[step.slots[k]];
  Ref<Buffer> buffer(b.buffer ? b.buffer : arena);
  const Layout& l = step.operands[k];
  const int64_t offset = (b.offset + moved_bytes(step, k, at)) / l.dtype.size() + l.offset;
  const size_t bytes = buffer->bytes;
  return array(make_ref<Storage>(std::move(buffer), bytes), l.shape, l.strides, offset, l.dtype);
}

/// Copies between host memory and the device that have happened when they return.
class HostCopies final : public BorrowCopies {
 public:
  explicit HostCopies(Queue& queue) : queue_(queue) {}
  void to_host(void* to, uint64_t from, size_t bytes) override {
    queue_.device().hardware->copy(Hardware::Way::to_host, reinterpret_cast<Address>(to), from,
                                   bytes, queue_.stream());
    queue_.wait_device();
  }
  void to_device(uint64_t to, const void* from, size_t bytes) override {
    queue_.device().hardware->copy(Hardware::Way::to_device, to, reinterpret_cast<Address>(from),
                                   bytes, queue_.stream());
    queue_.wait_device();
  }

 private:
  Queue& queue_;
};

/// One step of a launch, with the addresses that its operands are bound to.
class Running {
 public:
  Running(const Prepared& prepared, const Launch& launch, const Ref<DeviceBuffer>& arena,
          Queue& queue, std::span<device::ErrorRecord* const> records, Flight& flight)
      : p_(prepared),
        step_(prepared.step),
        launch_(launch),
        arena_(arena),
        queue_(queue),
        records_(records),
        flight_(flight) {
    for (int slot : step_.slots) {
      const Binding& b = launch.arguments.bindings()[slot];
      base_.push_back((b.buffer ? address_of(*b.buffer) : arena->address()) + b.offset);
    }
  }

  void run() {
    StepObserver* observer = p_.watched ? step_observer.load() : nullptr;
    if (!observer) return run_kernel();
    queue_.wait_device();
    auto run_and_wait = [&] {
      run_kernel();
      queue_.wait_device();
      for (size_t k = 0; k < records_.size(); ++k)
        if (records_[k]->set) p_.kernel->raise_record(k, *records_[k]);
    };
    run_observed(*observer, step_, constants(), run_and_wait,
                 [&](int first, int end) { return any_nan(first, end); });
  }

 private:
  const Scalar* constants() const { return launch_.arguments.constants() + step_.first_constant; }
  std::span<const uint64_t> operands() const { return {base_.data(), base_.size()}; }

  void run_kernel() {
    if (p_.kernel) return run_op();
    queue_.wait_device();
    if (is_primitive(step_)) return run_primitive();
    HostCopies copies(queue_);
    p_.borrowed->run(operands(), constants(), copies);
  }

  array as_array(int k, const Shape& at) const {
    return operand_array(step_, k, at, launch_, arena_.get());
  }
  void run_op() {
    SmallVector<uint64_t, 2> records;
    for (const device::ErrorRecord* r : records_)
      records.push_back(queue_.device().hardware->seen_by_device(r));
    const Enqueue to{
        queue_, {records.data(), records.size()}, constants(), &flight_.kernels, p_.given};
    if (step_.loop.empty()) return p_.kernel->launch(to, operands());
    SmallVector<uint64_t, 16> moved;
    moved.resize(base_.size());
    each_position(step_.loop, [&](const Shape& at) {
      for (size_t k = 0; k < base_.size(); ++k) moved[k] = base_[k] + moved_bytes(step_, k, at);
      p_.kernel->launch(to, {moved.data(), moved.size()});
    });
  }
  void run_primitive() {
    Primitive& primitive = *static_cast<const PrimitiveAttrs*>(step_.attrs.get())->primitive;
    std::vector<std::pair<Shape, Dtype>> declared;
    for (int k = step_.n_inputs; k < step_.outputs_end(); ++k)
      declared.emplace_back(step_.operands[k].shape, step_.operands[k].dtype);
    each_position(step_.loop, [&](const Shape& at) {
      Arrays inputs, outputs;
      for (int k = 0; k < step_.n_inputs; ++k) inputs.push_back(as_array(k, at));
      for (int k = step_.n_inputs; k < step_.outputs_end(); ++k) outputs.push_back(as_array(k, at));
      {
        DeviceScope scope(launch_.stream, flight_.buffers);
        primitive.eval_gpu(inputs, outputs);
      }
      check_outputs(primitive, outputs, declared);
      for (size_t k = 0; k < outputs.size(); ++k)
        collect(outputs[k], as_array(step_.n_inputs + static_cast<int>(k), at));
    });
  }
  /// Copies the elements that a primitive gave an output, unless it wrote them in place.
  void collect(const array& output, const array& place) {
    const size_t bytes = output.nbytes();
    if (bytes == 0) return;
    const Space space = space_of(launch_.stream.device);
    auto there = [&](const Ref<Buffer>& b, const array& a) {
      return address_of(*b) + a.node()->value.offset * a.itemsize();
    };
    const Value& v = output.node()->value;
    const Address to = there(place.node()->value.storage->replica(space), place);
    const Ref<Buffer> from = v.storage->replica(space);
    // The host may have written where it has an address of separate memory.
    const Ref<Buffer> host_side = v.storage->replica(Space::host);
    const bool on_host = !from || (host_side && host_side.get() != from.get());
    const bool in_rows = is_row_contiguous(output.shape(), v.strides);
    if (!on_host && in_rows) {
      if (there(from, output) == to) return;
      queue_.device().hardware->copy(Hardware::Way::within, to, there(from, output), bytes,
                                     queue_.stream());
      flight_.buffers.push_back(from);
      return;
    }
    queue_.wait_device();
    const char* host = output.data<char>();
    std::vector<char> rows;
    if (!in_rows) {
      const auto size = static_cast<int64_t>(output.itemsize());
      Odometer<1> at(output.shape(), {v.strides});
      for (size_t n = output.size(); n-- > 0; at.next())
        rows.insert(rows.end(), host + at[0] * size, host + (at[0] + 1) * size);
      host = rows.data();
    }
    HostCopies(queue_).to_device(to, host, bytes);
  }

  /// Whether operands, at all positions of the loop, hold NaNs.
  bool any_nan(int first, int end) const {
    for (int k = first; k < end; ++k) {
      const Layout l = whole_operand(step_, k);
      if (!is_inexact(l.dtype) || num_elements(l.shape) == 0) continue;
      const auto [low, high] = extent(l.shape, l.strides);
      const int64_t size = l.dtype.size();
      std::vector<std::max_align_t> host((high - low + 1) * size / sizeof(std::max_align_t) + 1);
      HostCopies(queue_).to_host(host.data(), base_[k] + (l.offset + low) * size,
                                 (high - low + 1) * size);
      if (has_nan({reinterpret_cast<char*>(host.data()) - low * size, l})) return true;
    }
    return false;
  }

  const Prepared& p_;
  const Step& step_;
  const Launch& launch_;
  const Ref<DeviceBuffer>& arena_;
  Queue& queue_;
  const std::span<device::ErrorRecord* const> records_;
  Flight& flight_;
  SmallVector<uint64_t, 16> base_;
};

}  // namespace

Address address_of(const Buffer& buffer) {
  auto* own = dynamic_cast<const DeviceMemory*>(&buffer);
  if (!own)
    fail<ExecutionError>("gpu", "a buffer of another device; those of the GPU are accepted");
  return own->address();
}

Ref<DeviceBuffer> take_memory(size_t bytes, Stream stream) {
  DeviceState& state = device(stream.device.index);
  state.enter();
  Block block = state.pool->take(bytes);
  return make_ref<DeviceBuffer>(space_of(stream.device), *state.pool, std::move(block));
}

namespace {

/// Calls f for each step. After a call that took as long as a compiler does, threads share the
/// others: the kernels of a new plan are compiled at the same time.
void each_step(std::vector<Prepared>& steps, DeviceState& state,
               const std::function<void(Prepared&)>& f) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kCompiled = std::chrono::milliseconds(20);
  std::atomic<size_t> next = 0;
  auto in_turn = [&](bool alone) {
    for (size_t i; (i = next++) < steps.size();) {
      const auto start = Clock::now();
      f(steps[i]);
      if (alone && Clock::now() - start > kCompiled) return;
    }
  };
  in_turn(true);
  const size_t left = steps.size() - std::min(steps.size(), next.load());
  std::vector<std::thread> helpers;
  auto help = [&] {
    try {
      state.enter();
    } catch (...) {
      return;  // the calling thread prepares all
    }
    in_turn(false);
  };
  try {
    for (size_t i = 1; i < std::min<size_t>(left, std::thread::hardware_concurrency()); ++i)
      helpers.push_back(start_without_signals(help));
  } catch (const std::system_error&) {  // fewer threads do
  }
  in_turn(false);
  for (std::thread& t : helpers) t.join();
}

/// The inputs of a step, a bit each, that no step before wrote. `written`: by the slots, those that
/// were; it gets the step's outputs.
uint64_t given_to(const Step& step, std::vector<bool>& written) {
  uint64_t given = 0;
  for (size_t k = 0; k < step.slots.size(); ++k) {
    const auto slot = static_cast<size_t>(step.slots[k]);
    if (slot >= written.size()) written.resize(slot + 1);
    if (k >= static_cast<size_t>(step.n_inputs))
      written[slot] = true;
    else if (k < 64 && !written[slot])
      given |= uint64_t{1} << k;
  }
  return given;
}

}  // namespace

std::shared_ptr<const Executable> prepare_work(
    Work work, DeviceState& state,
    const std::function<std::unique_ptr<const OpKernel>(const Step&)>& find) {
  state.enter();
  auto x = std::make_shared<GpuExecutable>(state);
  x->arena_bytes = work.arena_bytes;
  x->watched = step_observer.load() != nullptr;
  x->steps.reserve(work.steps.size());
  for (Step& s : work.steps) x->steps.push_back({std::move(s), x->watched});
  each_step(x->steps, state, [&](Prepared& p) {
    try {
      if (!is_primitive(p.step) && !(p.kernel = find(p.step)))
        p.borrowed = std::make_unique<const BorrowedStep>(p.step, work.device);
    } catch (...) {
      p.refusal = std::current_exception();
    }
  });
  std::vector<bool> written;
  for (Prepared& p : x->steps) {
    p.given = given_to(p.step, written);
    x->complete = x->complete && !p.refusal;
    // Communication waits for other processes.
    const bool communicates = p.kernel && p.kernel->communicates();
    x->communicates = x->communicates || communicates;
    x->waits = x->waits || x->watched || !p.kernel || communicates;
    x->launches += p.kernel ? p.kernel->launches() : 1;
  }
  return x;
}

//--- launches

namespace {

/// A launch, with its memory and what became of its steps: in progress, or stopped before one.
struct Started {
  explicit Started(Launch l)
      : launch(std::move(l)),
        executable(std::static_pointer_cast<const GpuExecutable>(launch.executable)),
        results(executable->steps.size()),
        records(executable->steps.size()) {
    for (const Binding& b : launch.arguments.bindings()) bindings.push_back(b);
    if (Probe* probe = executable->device.hardware->probe) refusal = probe->launch_starts();
  }
  Started(const Started&) = delete;
  ~Started() {
    for (const auto& of_step : records)
      for (device::ErrorRecord* r : of_step) executable->device.records.give(r);
  }
  /// Records for a step whose kernels check their operands.
  std::span<device::ErrorRecord* const> records_for(size_t step) {
    const OpKernel* kernel = executable->steps[step].kernel.get();
    auto& own = records[step];
    while (kernel && own.size() < kernel->records())
      own.push_back(executable->device.records.take());
    checks = checks || !own.empty();
    return {own.data(), own.size()};
  }
  /// The first error that kernels reported, once they are over.
  std::exception_ptr reported() {
    std::exception_ptr first;
    for (size_t i = 0; i < records.size(); ++i) {
      for (size_t k = 0; k < records[i].size(); ++k) {
        if (!records[i][k]->set) continue;
        try {
          executable->steps[i].kernel->raise_record(k, *records[i][k]);
        } catch (...) {
          if (!first) first = std::current_exception();
          results.fail(i, first);
        }
      }
    }
    return first;
  }
  /// Tells kernels that communicate of the end of their launches.
  void tell_ended(bool well) const noexcept {
    for (size_t i = 0; i < records.size(); ++i)
      if (const OpKernel* kernel = executable->steps[i].kernel.get();
          kernel && kernel->communicates() && !records[i].empty() && records[i][0]->set)
        kernel->ended(well);
  }
  std::vector<const Buffer*> unwritten() const {
    return results.unwritten_buffers(bindings, [&](size_t i) { return executable->slots(i); });
  }

  Launch launch;
  const std::shared_ptr<const GpuExecutable> executable;
  Ref<DeviceBuffer> arena;
  std::exception_ptr refusal;
  StepResults results;
  size_t next = 0;
  std::vector<SmallVector<device::ErrorRecord*, 1>> records;  ///< of each step
  bool checks = false;
  std::vector<Binding> bindings;  ///< for their names: the launch may be over
};

void start(std::shared_ptr<Started> s);

/// A launch that found no memory before its first step, or at a later one.
class SuspendedLaunch final : public SuspendedWork {
 public:
  explicit SuspendedLaunch(std::shared_ptr<Started> started) : started_(std::move(started)) {}
  std::vector<Ref<Event>>& after() override { return started_->launch.after; }
  void resume(Event& end) override {
    if (Stop stop = stopped_before(started_->launch.after, false))
      return end.suspend(std::move(stop), std::make_unique<SuspendedLaunch>(std::move(started_)));
    started_->launch.done = Ref<Event>(&end);
    try {
      start(std::move(started_));
    } catch (...) {
      end.fail(std::current_exception(), {nullptr});
    }
  }

 private:
  std::shared_ptr<Started> started_;
};

/// Enqueues the steps from `next` on. Throws where the launch can go on later. `recorder`: of the
/// calls, which stops the steps where one fails that was to be made; or null. `failure`: of the
/// first of the steps, or null.
void run_steps(Started& s, Queue& queue, Flight& flight, Recorder* recorder,
               std::exception_ptr failure) {
  const auto& steps = s.executable->steps;
  s.results.run(
      s.next, s.bindings, [&](size_t i) { return s.executable->slots(i); },
      [&](size_t i) {
        if (!recorder) return;
        if (recorder->failure()) std::rethrow_exception(recorder->failure());
        recorder->begin_step(i);
      },
      [&](size_t i) {
        if (failure) std::rethrow_exception(std::exchange(failure, {}));
        if (steps[i].refusal) return s.results.fail(i, steps[i].refusal);
        try {
          Running(steps[i], s.launch, s.arena, queue, s.records_for(i), flight).run();
        } catch (...) {
          if (!recorder || !recorder->failure()) throw;
        }
      });
}
/// The same for a whole launch, whose calls are recorded.
void run_recorded(Started& s, Queue& queue, Flight& flight) {
  std::exception_ptr stopped, failure;
  {
    Recorder recorder(queue, s.executable->launches);
    try {
      run_steps(s, queue, flight, &recorder, {});
    } catch (...) {
      stopped = std::current_exception();
    }
    failure = recorder.finish();
    if (queue.device().hardware->graphs) s.executable->calls = recorder.calls();
    if (failure) s.next = recorder.failed_step();
  }
  if (failure)
    run_steps(s, queue, flight, nullptr, failure);
  else if (stopped)
    std::rethrow_exception(stopped);
}

/// The error of work that has not begun when the program ends: nothing reads its results.
std::exception_ptr dropped_at_end() {
  return std::make_exception_ptr(
      ExecutionError("[gpu] work that had not begun when the program ended"));
}

void run(std::shared_ptr<Started> s, Ref<DeviceCompletion> completion, Queue& queue) {
  Flight flight{.completion = std::move(completion),
                .done = std::exchange(s->launch.done, {}),
                .kernels = {s->executable}};
  flight.error = s->refusal           ? s->refusal
                 : Entrance::closed() ? dropped_at_end()
                                      : queue.wait_for(s->launch.after);
  bool stopped = flight.error && can_resume(flight.error);
  if (!flight.error) {
    try {
      if (s->next > 0 || s->executable->watched)
        run_steps(*s, queue, flight, nullptr, {});
      else
        run_recorded(*s, queue, flight);
      flight.error = s->results.error();
      if (flight.error) flight.unwritten = s->unwritten();
    } catch (...) {
      flight.error = std::current_exception();
      stopped = true;
    }
  }
  if (s->checks)
    flight.reported = [s](std::vector<const Buffer*>& unwritten) {
      std::exception_ptr found = s->reported();
      if (found) unwritten = s->unwritten();
      return found;
    };
  if (stopped) {
    flight.rest = std::make_unique<SuspendedLaunch>(s);
  } else {
    flight.after = std::move(s->launch.after);
    flight.arguments = std::move(s->launch.arguments);
    flight.buffers.push_back(std::move(s->arena));
  }
  Probe* const probe = queue.device().hardware->probe;
  if (s->executable->communicates && !stopped)
    flight.at_end = [probe, s](bool well) {
      s->tell_ended(well);
      if (probe) probe->launch_ends();
    };
  else if (probe)
    flight.at_end = [probe](bool) { probe->launch_ends(); };
  s = {};
  queue.finish(std::move(flight));
}

void start(std::shared_ptr<Started> s) {
  Launch& launch = s->launch;
  Ref<Queue> queue = s->executable->device.queue(launch.stream.index);
  try {
    const size_t bytes = s->executable->arena_bytes;
    if (bytes && !s->arena) s->arena = take_memory(bytes, launch.stream);
  } catch (...) {
    const Ref<Event> done = std::exchange(launch.done, {});  // the event owns the rest
    return done->suspend({std::current_exception()},
                         std::make_unique<SuspendedLaunch>(std::move(s)));
  }
  auto completion = make_ref<DeviceCompletion>(queue, s->executable->last_wait);
  launch.done->set_completion(completion);
  const GpuExecutable& x = *s->executable;
  const bool many = std::min(x.launches, x.calls.load()) > kManySteps;
  const bool on_host = x.waits || many || waits_on_host(launch.after);
  queue->submit([queue = queue.get(), completion = std::move(completion),
                 s = std::move(s)]() mutable { run(std::move(s), std::move(completion), *queue); },
                on_host);
}

}  // namespace

void start_launch(Launch launch) {
  device(launch.stream.device.index).enter();
  start(std::make_shared<Started>(std::move(launch)));
}

}  // namespace mlx::core::gpu
