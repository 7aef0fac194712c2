// Loops and branches of prepared functions.
#include "mlx/backend/cpu/control.h"

#include <algorithm>
#include <cstring>

#include "mlx/backend/common/steps.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/routine.h"
#include "mlx/core/blocking.h"
#include "mlx/ops/control.h"

namespace mlx::core::cpu {

namespace {

size_t aligned(size_t bytes) {
  return (bytes + kRoutineAlignment - 1) / kRoutineAlignment * kRoutineAlignment;
}

size_t bytes_of(const Layout& l) { return num_elements(l.shape) * l.dtype.size(); }

/// Bytes of a second copy of everything that a loop carries.
size_t carried_bytes(std::span<const Layout> operands, int n_inputs, const Attrs* attrs) {
  const auto& a = control_of(attrs);
  size_t bytes = 0;
  for (int64_t k = 0; k < a.carried; ++k) bytes += aligned(bytes_of(operands[n_inputs + k]));
  return bytes;
}

/// The condition of a while loop is one element in front of what is carried.
size_t while_bytes(std::span<const Layout> operands, int n_inputs, const Attrs* attrs) {
  return kRoutineAlignment + carried_bytes(operands, n_inputs, attrs);
}

constexpr uint32_t kAllRows = ~0u;

/// Looks for interrupts once so many bytes were processed; each iteration counts for some.
class SignalWatch {
 public:
  explicit SignalWatch(int64_t bytes_per_iteration) : step_(bytes_per_iteration + 256) {}
  void iteration() {
    if ((bytes_ += step_) <= kLong) return;
    bytes_ = 0;
    watch_.check();
  }

 private:
  static constexpr int64_t kLong = 1 << 22;
  const InterruptWatch watch_;
  int64_t step_, bytes_ = 0;
};

/// Carried values of a loop, in two places: each iteration reads one and writes the other. One of
/// them is the loop's output.
class Carried {
 public:
  Carried(const Step& step, void* const* addresses, int64_t count, int first_input, char* memory) {
    for (int64_t k = 0; k < count; ++k) {
      const size_t bytes = bytes_of(step.operands[step.n_inputs + k]);
      items_.push_back({addresses[first_input + k], addresses[step.n_inputs + k], memory, bytes});
      memory += aligned(bytes);
    }
  }
  /// Copies the initial values to where the first iteration reads.
  void start(bool in_output) const {
    for (const Item& c : items_)
      if (c.bytes)
        copy_bytes(in_output ? c.output : c.memory, c.initial, static_cast<int64_t>(c.bytes));
  }
  void read(RoutineRun& run, int64_t first, bool in_output) const {
    for (size_t k = 0; k < items_.size(); ++k)
      run.set_input(first + k, in_output ? items_[k].output : items_[k].memory);
  }
  void write(RoutineRun& run, bool to_output) const {
    for (size_t k = 0; k < items_.size(); ++k)
      run.set_output(k, to_output ? items_[k].output : items_[k].memory);
  }
  /// Copies what the last iteration wrote to the output.
  void finish() const {
    for (const Item& c : items_)
      if (c.bytes) copy_bytes(c.output, c.memory, static_cast<int64_t>(c.bytes));
  }

 private:
  struct Item {
    const void* initial;
    void* output;
    char* memory;
    size_t bytes;
  };
  std::vector<Item> items_;
};

}  // namespace

struct ControlKernel::Impl {
  Step step;
  std::vector<RoutineKernel> functions;
  size_t arena = 0;  ///< where the arena begins in the workspace

  explicit Impl(Step s) : step(std::move(s)) {
    for (const auto& r : step.routines) functions.emplace_back(*r);
    const std::span<const Layout> operands(step.operands);
    const auto* entry = find_kernel(*step.op);
    if (entry->workspace)
      arena = aligned(entry->workspace(operands, step.n_inputs, step.attrs.get()));
  }

  void scan(void* const* addresses) const {
    const ControlAttrs& a = control_of(step.attrs.get());
    auto* memory = static_cast<char*>(addresses[step.workspace]);
    const RoutineKernel& f = functions[0];
    RoutineRun run(f, memory + arena);
    const Carried carried(step, addresses, a.carried, static_cast<int>(a.shared), memory);
    for (int64_t k = 0; k < a.shared; ++k) run.set_input(k, addresses[k]);
    carried.start(a.length % 2 == 0);
    const int64_t first_slice = a.shared + a.carried,
                  n_outputs = step.outputs_end() - step.n_inputs;
    std::vector<int64_t> slice_bytes(step.operands.size());
    for (size_t k = 0; k < slice_bytes.size(); ++k)
      if (const Layout& l = step.operands[k]; !l.shape.empty())
        slice_bytes[k] = static_cast<int64_t>(bytes_of(l)) / std::max<int64_t>(l.shape[0], 1);
    auto slice = [&](int64_t operand, int64_t at) {
      return static_cast<char*>(addresses[operand]) + at * slice_bytes[operand];
    };
    SignalWatch signals(f.bytes);
    for (int64_t i = 0; i < a.length; ++i) {
      const int64_t at = a.reverse ? a.length - 1 - i : i;
      const bool to_output = (a.length - 1 - i) % 2 == 0;
      carried.read(run, a.shared, !to_output);
      carried.write(run, to_output);
      for (int64_t k = first_slice; k < step.n_inputs; ++k) run.set_input(k, slice(k, at));
      for (int64_t k = a.carried; k < n_outputs; ++k)
        run.set_output(k, slice(step.n_inputs + k, at));
      run.run();
      signals.iteration();
    }
  }

  void while_loop(void* const* addresses) const {
    const ControlAttrs& a = control_of(step.attrs.get());
    auto* holds = static_cast<char*>(addresses[step.workspace]);
    char *memory = holds + kRoutineAlignment, *temporaries = holds + arena;
    RoutineRun condition(functions[0], temporaries), body(functions[1], temporaries);
    const int first = static_cast<int>(a.shared + a.shared_body);
    const Carried carried(step, addresses, a.carried, first, memory);
    for (int64_t k = 0; k < a.shared; ++k) condition.set_input(k, addresses[k]);
    for (int64_t k = 0; k < a.shared_body; ++k) body.set_input(k, addresses[a.shared + k]);
    condition.set_output(0, holds);
    SignalWatch signals(functions[0].bytes + functions[1].bytes);
    bool in_output = true;
    carried.start(in_output);
    for (;; in_output = !in_output) {
      carried.read(condition, a.shared, in_output);
      condition.run();
      if (!*holds) break;
      carried.read(body, a.shared_body, in_output);
      carried.write(body, !in_output);
      body.run();
      signals.iteration();
    }
    if (!in_output) carried.finish();
  }

  void switch_branch(void* const* addresses) const {
    int32_t index;
    std::memcpy(&index, addresses[0], sizeof(index));
    const auto last = static_cast<int32_t>(functions.size()) - 1;
    const RoutineKernel& f = functions[std::clamp(index, 0, last)];
    RoutineRun run(f, static_cast<char*>(addresses[step.workspace]) + arena);
    for (int k = 1; k < step.n_inputs; ++k) run.set_input(k - 1, addresses[k]);
    for (int k = step.n_inputs; k < step.outputs_end(); ++k)
      run.set_output(k - step.n_inputs, addresses[k]);
    run.run();
  }
};

ControlKernel::ControlKernel(Step step) : impl_(new Impl(std::move(step))) {}
ControlKernel::~ControlKernel() = default;
ControlKernel::ControlKernel(ControlKernel&&) noexcept = default;

void ControlKernel::run(void* const* addresses) const {
  const Step& step = impl_->step;
  SmallVector<void*, 16> moved;
  moved.resize(step.operands.size());
  each_position(step.loop, [&](const Shape& at) {
    for (size_t k = 0; k < moved.size(); ++k)
      moved[k] = static_cast<char*>(addresses[k]) + (at.empty() ? 0 : moved_bytes(step, k, at));
    if (step.op == &op_scan_loop)
      impl_->scan(moved.data());
    else if (step.op == &op_while_loop)
      impl_->while_loop(moved.data());
    else
      impl_->switch_branch(moved.data());
  });
}

namespace {
// Steps of these ops run as a ControlKernel, with their functions, and never by `run`.
const KernelEntry kControlKernels[] = {
    {.op = &op_scan_loop, .run = nullptr, .contiguous = kAllRows, .workspace = carried_bytes},
    {.op = &op_while_loop, .run = nullptr, .contiguous = kAllRows, .workspace = while_bytes},
    {.op = &op_switch, .run = nullptr, .contiguous = kAllRows},
};
}  // namespace
const std::span<const KernelEntry> control_kernels = kControlKernels;

}  // namespace mlx::core::cpu
