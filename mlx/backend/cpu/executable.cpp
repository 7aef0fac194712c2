// Executables of the CPU: steps bound to memory, and launches of them.
#include "mlx/backend/cpu/executable.h"

#include <optional>

#include "mlx/backend/common/steps.h"
#include "mlx/backend/cpu/step_kernel.h"
#include "mlx/core/blocking.h"

namespace mlx::core::cpu {

namespace {

struct CpuExecutable final : Executable {
  struct Entry {
    SmallVector<int, 8> slots;
    SmallVector<int64_t, 8> offsets;  // bytes
    int n_inputs, first_constant;
    int64_t bytes = 0;  // estimated bytes read and written
    std::optional<StepKernel> kernel;
    std::unique_ptr<const Step> watched;  ///< for the step observer
  };
  std::vector<Entry> entries;
  size_t arena_bytes = 0;
};

/// A launch in progress, or suspended before one of its steps.
class Run final : public SuspendedWork {
 public:
  explicit Run(Launch launch) : launch_(std::move(launch)), results_(executable().entries.size()) {}
  Run(Run&& o) noexcept
      : launch_(std::move(o.launch_)),
        arena_(std::exchange(o.arena_, {})),
        next_(o.next_),
        results_(std::move(o.results_)) {}
  ~Run() override {
    if (arena_.ptr) free_block(arena_);
  }

  std::vector<Ref<Event>>& after() override { return launch_.after; }
  void resume(Event& end) override {
    Run again(std::move(*this));
    again.launch_.done = Ref<Event>(&end);
    again.perform();
  }

  void perform() {
    Ref<Event> done = launch_.done;
    try {
      for (const auto& e : launch_.after) e->wait_first();
      launch_.after.clear();
      if (executable().arena_bytes && !arena_.ptr) arena_ = allocate(executable().arena_bytes);
      run_steps();
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      if (!can_resume(error)) return done->fail(error, {nullptr});
      launch_.done = {};  // the event owns the rest of the work
      return done->suspend({error}, std::make_unique<Run>(std::move(*this)));
    }
    if (!results_.error()) return done->signal();
    auto slots_of_entry = [&](size_t i) { return slots(executable().entries[i]); };
    const auto bindings = launch_.arguments.bindings();
    done->fail(results_.error(), results_.unwritten_buffers(bindings, slots_of_entry));
  }

 private:
  using Entry = CpuExecutable::Entry;
  const CpuExecutable& executable() const {
    return static_cast<const CpuExecutable&>(*launch_.executable);
  }

  static StepSlots slots(const Entry& e) { return {{e.slots.data(), e.slots.size()}, e.n_inputs}; }

  /// Throws if the launch can be resumed later with the step at `next_`.
  void run_steps() {
    constexpr int64_t kLong = 1 << 22;  // bytes processed by steps between checks for signals
    int64_t bytes = 0;
    const std::vector<Entry>& entries = executable().entries;
    auto look_for_signals = [&](size_t i) {
      if ((bytes += entries[i].bytes) <= kLong) return;
      bytes = entries[i].bytes;
      check_interrupt();
    };
    results_.run(
        next_, launch_.arguments.bindings(), [&](size_t i) { return slots(entries[i]); },
        look_for_signals, [&](size_t i) { run_entry(entries[i]); });
  }

  void run_entry(const Entry& e) {
    addresses_.clear();
    for (size_t k = 0; k < e.slots.size(); ++k) {
      const Binding& b = launch_.arguments.bindings()[e.slots[k]];
      char* base = static_cast<char*>(b.buffer ? b.buffer->host : arena_.ptr);
      addresses_.push_back(base + b.offset + e.offsets[k]);
    }
    const Scalar* constants = launch_.arguments.constants() + e.first_constant;
    auto run = [&] { e.kernel->run(addresses_.data(), constants); };
    StepObserver* observer = step_observer.load(std::memory_order_relaxed);
    if (!observer || !e.watched) return run();
    auto any_nan = [&](int first, int end) {
      for (int k = first; k < end; ++k)
        if (has_nan({addresses_[k], whole_operand(*e.watched, k)})) return true;
      return false;
    };
    run_observed(*observer, *e.watched, constants, run, any_nan);
  }

  Launch launch_;
  HostBlock arena_;
  size_t next_ = 0;
  StepResults results_;
  SmallVector<void*, 32> addresses_;
};

}  // namespace

std::shared_ptr<const Executable> prepare_work(Work work) {
  auto x = std::make_shared<CpuExecutable>();
  x->arena_bytes = work.arena_bytes;
  x->entries.reserve(work.steps.size());
  for (Step& s : work.steps) {
    auto& e = x->entries.emplace_back();
    // Steps borrowed by another device are reported by that device.
    if (step_observer.load() && work.device == Device::cpu)
      e.watched = std::make_unique<const Step>(s);
    e.slots = std::move(s.slots);
    e.offsets = StepKernel::offsets_of(s);
    e.n_inputs = s.n_inputs;
    e.first_constant = s.first_constant;
    e.bytes = StepKernel::bytes_of(s);
    e.kernel.emplace(std::move(s));
  }
  return x;
}

void run_launch(Launch launch) { Run(std::move(launch)).perform(); }

}  // namespace mlx::core::cpu
