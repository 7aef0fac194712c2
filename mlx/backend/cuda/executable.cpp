#include "mlx/backend/cuda/executable.h"

#include <algorithm>

#include "mlx/backend/cuda/fused.h"
#include "mlx/backend/cuda/kernel.h"
#include "mlx/backend/shared/borrow.h"
#include "mlx/backend/shared/launch.h"
#include "mlx/backend/shared/odometer.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom.h"
#include "mlx/ops/custom_device.h"
#include "mlx/runtime/observe.h"

namespace mlx::core::cuda {

namespace {

/// The driver takes so many kernels at once; whoever launches more waits for the device.
constexpr size_t kManySteps = 256;

struct Prepared {
  Step step;
  bool watched = false;
  std::unique_ptr<const FusedKernel> fused = {};
  std::unique_ptr<const OpKernel> kernel = {};
  std::unique_ptr<const BorrowedStep> borrowed = {};
};
struct CudaExecutable final : Executable {
  std::vector<Prepared> steps;
  size_t arena_bytes = 0;
  bool waits = false;
};
const CudaExecutable& own(const Executable& e) { return static_cast<const CudaExecutable&>(e); }

bool is_primitive(const Step& s) { return s.op == &op_primitive || s.op == &op_primitive_bundle; }

/// Copies between host memory and the device that have happened when they return.
class HostCopies final : public BorrowCopies {
 public:
  explicit HostCopies(Queue& queue) : queue_(queue) {}
  void to_host(void* to, uint64_t from, size_t bytes) override {
    check(driver().copy_to_host(to, from, bytes, queue_.stream()), "cuMemcpyDtoHAsync");
    queue_.wait_device();
  }
  void to_device(uint64_t to, const void* from, size_t bytes) override {
    check(driver().copy_to_device(to, from, bytes, queue_.stream()), "cuMemcpyHtoDAsync");
    queue_.wait_device();
  }

 private:
  Queue& queue_;
};

/// One step of a launch, with the addresses that its operands are bound to.
class Running {
 public:
  Running(const Prepared& prepared, const Launch& launch, const Ref<DeviceBuffer>& arena,
          Queue& queue, const device::ErrorRecord* record, std::vector<Ref<Buffer>>& kept)
      : p_(prepared),
        step_(prepared.step),
        launch_(launch),
        arena_(arena),
        queue_(queue),
        record_(record),
        kept_(kept) {
    for (int slot : step_.slots) {
      const Binding& b = launch.arguments.bindings()[slot];
      base_.push_back((b.buffer ? address_of(*b.buffer) : arena->address()) + b.offset);
    }
  }

  void run() {
    StepObserver* observer = p_.watched ? step_observer.load() : nullptr;
    if (!observer) return run_kernel();
    queue_.wait_device();
    const bool look = observer->looks_for_nans() && !reads_nan();
    const auto start = Clock::now();
    try {
      run_kernel();
      queue_.wait_device();
      if (record_ && record_->set) p_.kernel->raise(*record_);
    } catch (const ExtensibleError& e) {
      const std::string line = origin_text(step_.origin);
      if (line.empty()) throw;
      e.throw_with("; built at " + line);
    }
    const auto end = Clock::now();
    observer->report(step_, start, end, look && any_nan(step_.n_inputs, step_.outputs_end()));
  }

 private:
  const Scalar* constants() const { return launch_.arguments.constants() + step_.first_constant; }
  std::span<const uint64_t> operands() const { return {base_.data(), base_.size()}; }

  void run_kernel() {
    if (p_.fused) return p_.fused->launch(queue_.stream(), operands(), constants());
    if (p_.kernel) return run_op();
    queue_.wait_device();
    if (is_primitive(step_)) return run_primitive();
    HostCopies copies(queue_);
    p_.borrowed->run(operands(), constants(), copies);
  }

  array as_array(int k, const Shape& at) const {
    return operand_array(step_, k, at, launch_, arena_.get());
  }
  /// f(indices) at each position of the step's loop.
  template <class F>
  void each_position(F f) {
    Shape at(step_.loop.size(), 0);
    for (int64_t n = num_elements(step_.loop); n-- > 0;) {
      f(at);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < step_.loop[d]) break;
        at[d] = 0;
      }
    }
  }
  void run_op() {
    const Enqueue to{queue_, reinterpret_cast<uint64_t>(record_), constants()};
    if (step_.loop.empty()) return p_.kernel->launch(to, operands());
    SmallVector<uint64_t, 16> moved;
    moved.resize(base_.size());
    each_position([&](const Shape& at) {
      for (size_t k = 0; k < base_.size(); ++k) {
        int64_t offset = 0;
        for (size_t d = 0; d < at.size(); ++d) offset += at[d] * step_.advance[k][d];
        moved[k] = base_[k] + offset * step_.operands[k].dtype.size();
      }
      p_.kernel->launch(to, {moved.data(), moved.size()});
    });
  }
  void run_primitive() {
    Primitive& primitive = *static_cast<const PrimitiveAttrs*>(step_.attrs.get())->primitive;
    std::vector<std::pair<Shape, Dtype>> declared;
    for (int k = step_.n_inputs; k < step_.outputs_end(); ++k)
      declared.emplace_back(step_.operands[k].shape, step_.operands[k].dtype);
    each_position([&](const Shape& at) {
      Arrays inputs, outputs;
      for (int k = 0; k < step_.n_inputs; ++k) inputs.push_back(as_array(k, at));
      for (int k = step_.n_inputs; k < step_.outputs_end(); ++k) outputs.push_back(as_array(k, at));
      {
        DeviceScope scope(launch_.stream, kept_);
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
    // What the host has an address of, it may have written there.
    const bool on_host = !from || v.storage->replica(Space::host);
    const bool in_rows = is_row_contiguous(output.shape(), v.strides);
    if (!on_host && in_rows) {
      if (there(from, output) == to) return;
      check(driver().copy_within(to, there(from, output), bytes, queue_.stream()),
            "cuMemcpyDtoDAsync");
      kept_.push_back(from);
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
      Layout l = step_.operands[k];
      for (size_t d = step_.loop.size(); d-- > 0;) {
        l.shape.insert(l.shape.begin(), step_.loop[d]);
        l.strides.insert(l.strides.begin(), step_.advance[k][d]);
      }
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
  bool reads_nan() const {
    const Program& p = step_.program;
    for (size_t c = 0; c < p.constants.size(); ++c)
      if (has_nan({const_cast<unsigned char*>(constants()[c].bytes),
                   {{}, {}, 0, Dtype(p.constants[c])}}))
        return true;
    return any_nan(0, step_.n_inputs);
  }

  const Prepared& p_;
  const Step& step_;
  const Launch& launch_;
  const Ref<DeviceBuffer>& arena_;
  Queue& queue_;
  const device::ErrorRecord* record_;
  std::vector<Ref<Buffer>>& kept_;
  SmallVector<uint64_t, 16> base_;
};

const KernelEntry* find_step(const Step& s, const DeviceState& state, Requirements& needs) {
  if (!s.program.code.empty()) {
    const Layout operands[] = {computed_input(s), s.operands[s.n_inputs]};
    return find_kernel(*s.op, s.attrs.get(), operands, 1, state, needs);
  }
  const std::span<const Layout> operands(s.operands.data(), s.outputs_end());
  return find_kernel(*s.op, s.attrs.get(), operands, s.n_inputs, state, needs);
}

}  // namespace

Address address_of(const Buffer& buffer) {
  auto* own = dynamic_cast<const DeviceMemory*>(&buffer);
  if (!own)
    fail<ExecutionError>("cuda", "a buffer of another device; those of the GPU are accepted");
  return own->address();
}

std::shared_ptr<const Executable> prepare_work(Work work) {
  DeviceState& state = device(work.device.index);
  state.enter();
  auto x = std::make_shared<CudaExecutable>();
  x->arena_bytes = work.arena_bytes;
  const bool watched = step_observer.load() != nullptr;
  for (Step& s : work.steps) {
    Prepared p{std::move(s), watched};
    if (!p.step.op)
      p.fused = std::make_unique<const FusedKernel>(p.step, state);
    else if (Requirements needs; const KernelEntry* k = find_step(p.step, state, needs))
      p.kernel = k->prepare(p.step, state);
    else if (!is_primitive(p.step))
      p.borrowed = std::make_unique<const BorrowedStep>(p.step, work.device);
    x->waits = x->waits || watched || !(p.fused || p.kernel);
    x->steps.push_back(std::move(p));
  }
  x->waits = x->waits || x->steps.size() > kManySteps;
  return x;
}

size_t arena_bytes(const Executable& executable) { return own(executable).arena_bytes; }
bool waits(const Executable& executable) { return own(executable).waits; }

namespace {

/// What became of the steps of a launch: which failed, and which bindings were not written.
class Results {
 public:
  Results(const Launch& launch, DeviceState& device)
      : executable_(std::static_pointer_cast<const CudaExecutable>(launch.executable)),
        device_(device),
        records_(executable_->steps.size()),
        failed_(executable_->steps.size()) {
    for (const Binding& b : launch.arguments.bindings()) buffers_.push_back(b.buffer);
  }
  Results(const Results&) = delete;
  ~Results() {
    for (device::ErrorRecord* r : records_)
      if (r) device_.records.give(r);
  }

  /// A record for a step whose kernels check their operands, or null.
  device::ErrorRecord* record(size_t step) {
    const OpKernel* kernel = executable_->steps[step].kernel.get();
    if (kernel && kernel->checks()) records_[step] = device_.records.take();
    checks_ = checks_ || records_[step];
    return records_[step];
  }
  bool checks() const { return checks_; }
  void fail(size_t step) { failed_[step] = true; }

  /// The first error that kernels reported.
  std::exception_ptr reported() {
    std::exception_ptr first;
    for (size_t i = 0; i < records_.size(); ++i) {
      if (!records_[i] || !records_[i]->set) continue;
      failed_[i] = true;
      if (first) continue;
      try {
        executable_->steps[i].kernel->raise(*records_[i]);
      } catch (...) {
        first = std::current_exception();
      }
    }
    return first;
  }
  /// Bindings that a failed step, or one that reads what such a step had to write, did not write.
  std::vector<bool> unwritten(size_t steps) const {
    std::vector<bool> bad(buffers_.size());
    for (size_t i = 0; i < steps; ++i) {
      const Step& s = executable_->steps[i].step;
      const auto first_output = s.slots.begin() + s.n_inputs;
      if (failed_[i] || std::any_of(s.slots.begin(), first_output, [&](int b) { return bad[b]; }))
        std::for_each(first_output, s.slots.end(), [&](int b) { bad[b] = true; });
    }
    return bad;
  }
  std::vector<const Buffer*> unwritten_buffers() const {
    std::vector<const Buffer*> found;
    const std::vector<bool> bad = unwritten(failed_.size());
    for (size_t b = 0; b < buffers_.size(); ++b)
      if (bad[b] && buffers_[b]) found.push_back(buffers_[b]);
    return found;
  }

 private:
  const std::shared_ptr<const CudaExecutable> executable_;
  DeviceState& device_;
  std::vector<device::ErrorRecord*> records_;
  std::vector<bool> failed_;
  std::vector<const Buffer*> buffers_;
  bool checks_ = false;
};

}  // namespace

Outcome run_steps(const Launch& launch, const Ref<DeviceBuffer>& arena, Queue& queue) {
  auto results = std::make_shared<Results>(launch, queue.device());
  const auto& steps = own(*launch.executable).steps;
  std::exception_ptr error;
  std::vector<Ref<Buffer>> kept;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (error) {
      const std::vector<bool> bad = results->unwritten(i);
      const Step& s = steps[i].step;
      if (std::any_of(s.slots.begin(), s.slots.begin() + s.n_inputs, [&](int b) { return bad[b]; }))
        continue;
    }
    try {
      Running(steps[i], launch, arena, queue, results->record(i), kept).run();
    } catch (...) {
      if (!error) error = std::current_exception();
      results->fail(i);
    }
  }
  Outcome out{error, error ? results->unwritten_buffers() : std::vector<const Buffer*>()};
  out.kept = std::move(kept);
  if (results->checks())
    out.reported = [results](std::vector<const Buffer*>& unwritten) {
      std::exception_ptr found = results->reported();
      if (found) unwritten = results->unwritten_buffers();
      return found;
    };
  return out;
}

}  // namespace mlx::core::cuda
