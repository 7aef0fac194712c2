// The CPU as a backend: host memory, kernels from the table, fused programs through the
// interpreter.
#include <algorithm>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernel.h"
#include "mlx/backend/cpu/streams.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core {

/// Host memory; not owned where it was wrapped.
struct Buffer {
  cpu::Buffer memory;
  bool owned;
};

namespace cpu {

namespace {

struct OpStep {
  const KernelEntry* kernel;
  Step step;
  std::unique_ptr<FusedKernel> program = {};  ///< computes the input, of this layout
  Layout input = {};
};

struct CpuExecutable final : Executable {
  struct Entry {
    SmallVector<int, 8> slots;
    SmallVector<int64_t, 8> offsets;  // bytes
    int n_inputs, first_parameter;
    int fused = -1, op = -1;
    std::unique_ptr<const Step> watched;  ///< for the observer of steps
  };
  std::vector<Entry> entries;
  std::vector<FusedKernel> fused;
  std::vector<OpStep> ops;
};

void run_on_program(const OpStep& op, void* const* addresses, const Scalar* constants) {
  const Step& s = op.step;
  FusedSource source(*op.program, addresses, constants);
  const View in{nullptr, &op.input}, out{addresses[s.n_inputs], &s.operands[s.n_inputs]};
  op.kernel->run({{&in, 1}, {&out, 1}, s.attrs.get(), nullptr, &source});
}

void run_op(const OpStep& op, void* const* addresses, const Scalar* constants) {
  if (op.program) return run_on_program(op, addresses, constants);
  const Step& s = op.step;
  int end = s.workspace >= 0 ? s.workspace : static_cast<int>(s.operands.size());
  SmallVector<View, 8> views;
  for (int k = 0; k < end; ++k) views.push_back({addresses[k], &s.operands[k]});
  std::span<const View> all(views.data(), views.size());
  op.kernel->run({.in = all.subspan(0, s.n_inputs),
                  .out = all.subspan(s.n_inputs),
                  .attrs = s.attrs.get(),
                  .workspace = s.workspace >= 0 ? addresses[s.workspace] : nullptr});
}

void run_entry(const CpuExecutable& x, const CpuExecutable::Entry& e, const Launch& launch,
               SmallVector<void*, 32>& addresses) {
  addresses.clear();
  for (size_t k = 0; k < e.slots.size(); ++k) {
    const Binding& b = launch.bindings[e.slots[k]];
    addresses.push_back(static_cast<char*>(b.buffer->memory.ptr) + b.offset + e.offsets[k]);
  }
  const Scalar* constants = launch.parameters.data() + e.first_parameter;
  auto run = [&] {
    if (e.fused >= 0)
      x.fused[e.fused].run(addresses.data(), constants);
    else
      run_op(x.ops[e.op], addresses.data(), constants);
  };
  StepObserver* observer = step_observer.load(std::memory_order_relaxed);
  if (observer && e.watched)
    observer->run(*e.watched, {addresses.data(), addresses.size()}, constants, run);
  else
    run();
}

/// What a launch owes to steps that failed.
class Failure {
 public:
  /// Notes that the step has not written its outputs, for the error at hand or for an earlier one.
  void add(const CpuExecutable::Entry& e, size_t n_bindings) {
    if (!error_) error_ = std::current_exception();
    unwritten_.resize(n_bindings);
    for (size_t k = e.n_inputs; k < e.slots.size(); ++k) unwritten_[e.slots[k]] = true;
  }
  bool reaches(const CpuExecutable::Entry& e) const {
    auto unwritten = [&](int slot) { return unwritten_[slot]; };
    return error_ && std::any_of(e.slots.begin(), e.slots.begin() + e.n_inputs, unwritten);
  }
  /// Marks the storages that were written all the same; throws the first error.
  void finish(const Launch& launch) const {
    if (!error_) return;
    for (const Ref<Storage>& s : launch.keep) {
      bool whole = s->ready == launch.done;
      for (size_t k = 0; k < launch.bindings.size(); ++k)
        whole = whole && !(unwritten_[k] && launch.bindings[k].buffer == s->buffer());
      if (whole) s->intact = true;
    }
    std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
  std::vector<bool> unwritten_;  ///< per binding
};

void run_steps(const Launch& launch) {
  auto& x = static_cast<const CpuExecutable&>(*launch.executable);
  SmallVector<void*, 32> addresses;
  Failure failure;
  for (const auto& e : x.entries) {
    if (failure.reaches(e)) {
      failure.add(e, launch.bindings.size());
      continue;
    }
    try {
      run_entry(x, e, launch, addresses);
    } catch (...) {
      failure.add(e, launch.bindings.size());
    }
  }
  failure.finish(launch);
}

struct CpuMemory final : MemoryControl {
  size_t active() const override { return active_memory(); }
  size_t peak() const override { return peak_memory(); }
  size_t cached() const override { return cache_memory(); }
  void reset_peak() override { reset_peak_memory(); }
  void clear_cache() override { cpu::clear_cache(); }
  size_t limit(Limit which) const override {
    return which == soft ? memory_limit() : which == cache ? cache_limit() : memory_ceiling();
  }
  size_t limit(Limit which, size_t n) override {
    return which == soft    ? set_memory_limit(n)
           : which == cache ? set_cache_limit(n)
                            : set_memory_ceiling(n);
  }
};

class CpuBackend final : public Backend {
 public:
  Caps caps() const override { return {.host_memory = true, .asynchronous = false}; }
  DeviceInfo info(int) const override {
    return {{"device_name", std::string("cpu")},
            {"architecture", std::string(isa_name(isa()))},
            {"memory_size", total_memory()},
            {"threads", static_cast<size_t>(num_threads())}};
  }

  core::Buffer* alloc(size_t bytes) override { return new core::Buffer{allocate(bytes), true}; }
  void free(core::Buffer* b) override {
    if (b->owned) free_buffer(b->memory);
    delete b;
  }
  size_t capacity(core::Buffer* b) const override { return b->memory.capacity; }
  MemoryControl& memory() override { return memory_; }
  void* host_pointer(core::Buffer* b) override { return b->memory.ptr; }
  core::Buffer* wrap(void* data, size_t bytes) override {
    return new core::Buffer{{data, bytes, bytes}, false};
  }
  void copy_in(core::Buffer* dst, const void* src, size_t n) override {
    std::memcpy(dst->memory.ptr, src, n);
  }
  void copy_out(void* dst, core::Buffer* src, size_t n) override {
    std::memcpy(dst, src->memory.ptr, n);
  }

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs) override {
    const KernelEntry* k = find_kernel(op);
    if (!k) fail<ValueError>(op.name, "no kernel on the CPU; register one with register_kernel");
    return {k->contiguous_inputs(attrs), k->in_place,
            k->workspace ? k->workspace(operands, n_inputs, attrs) : 0,
            k->takes_source && k->takes_source(operands[0], attrs)};
  }

  std::shared_ptr<const Executable> prepare(std::vector<Step> steps) override {
    auto x = std::make_shared<CpuExecutable>();
    x->entries.reserve(steps.size());
    for (Step& s : steps) {
      auto& e = x->entries.emplace_back();
      if (step_observer.load()) e.watched = std::make_unique<const Step>(s);
      e.slots = std::move(s.slots);
      for (const Layout& l : s.operands) e.offsets.push_back(l.offset * l.dtype.size());
      e.n_inputs = s.n_inputs;
      e.first_parameter = s.first_parameter;
      if (s.op) {
        e.op = static_cast<int>(x->ops.size());
        x->ops.push_back(op_step(std::move(s)));
      } else {
        e.fused = static_cast<int>(x->fused.size());
        x->fused.emplace_back(s);
      }
    }
    return x;
  }

  void launch(Launch l) override { submit(std::move(l), run_steps); }
  void synchronize(Stream s) override { drain(s); }

 private:
  static OpStep op_step(Step s) {
    OpStep op{find_kernel(*s.op), std::move(s)};
    const Program& p = op.step.program;
    if (p.code.empty()) return op;
    const Shape& shape = op.step.operands[0].shape;
    Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    op.input = {shape, row_major(shape), 0, type};
    op.program = std::make_unique<FusedKernel>(op.step, op.input);
    return op;
  }

  CpuMemory memory_;
};

const bool registered = (register_backend(Device::cpu, std::make_unique<CpuBackend>()), true);

}  // namespace

}  // namespace cpu

}  // namespace mlx::core
