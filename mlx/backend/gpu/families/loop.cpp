// Scans on a device: carried values alternate between two places, or lie in the slices of an output
// that collects them; slices move on. A slice that begins at no address of an array is computed
// elsewhere and copied.
#include "mlx/backend/gpu/families/loop.h"

#include <algorithm>

#include "mlx/backend/common/steps.h"
#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/core/blocking.h"
#include "mlx/ops/control.h"
#include "mlx/ops/custom.h"

namespace mlx::core::gpu {

namespace {

/// Elements of an operand from which a step is faster here than on the host.
constexpr int64_t kManyElements = 4096;

int64_t bytes_of(const Layout& l) {
  return num_elements(l.shape) * static_cast<int64_t>(l.dtype.size());
}
int64_t loop_aligned(int64_t bytes) {
  constexpr auto kAlignment = static_cast<int64_t>(kRoutineAlignment);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
bool is_large(const Step& s) {
  const std::span<const Layout> all = {s.operands.data(), static_cast<size_t>(s.outputs_end())};
  return std::ranges::any_of(
      all, [](const Layout& l) { return num_elements(l.shape) >= kManyElements; });
}
int64_t slice_bytes(const Layout& l) {
  return l.shape.empty() ? 0 : bytes_of(l) / std::max<int64_t>(l.shape[0], 1);
}
/// Whether slices of an output begin where kernels and libraries write no array: at addresses that
/// are no multiples of the longest access to memory.
bool is_staged(const Layout& l) {
  constexpr int64_t kAccess = 16;
  return slice_bytes(l) % kAccess != 0;
}

/// Where the memory of a loop is in its workspace: second places of everything that is carried,
/// then places for slices.
struct Memory {
  SmallVector<int64_t, 16> places;  ///< of each output; -1: it needs none
  int64_t bytes = 0;

  Memory(std::span<const Layout> outputs, const ControlAttrs& a) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      const bool carried = k < static_cast<size_t>(a.carried);
      places.push_back(carried || is_staged(outputs[k]) ? bytes : -1);
      if (places.back() < 0) continue;
      bytes += loop_aligned(carried ? bytes_of(outputs[k]) : slice_bytes(outputs[k]));
    }
  }
};
std::span<const Layout> outputs_of(const Step& s) {
  return {s.operands.data() + s.n_inputs, static_cast<size_t>(s.outputs_end() - s.n_inputs)};
}

/// The kernels of a function's steps, and where their operands are.
class PreparedFunction {
 public:
  using Prepare = std::function<std::unique_ptr<const OpKernel>(const Step&)>;
  /// `carried`: the first so many outputs of the step are.
  PreparedFunction(const Step& step, int64_t carried, DeviceState& device, const Prepare& prepare)
      : routine_(step.routines[0]), slice_of_(static_cast<size_t>(carried), -1) {
    for (const Step& s : routine_->steps) {
      kernels_.push_back(prepare(s));
      if (!kernels_.back())
        fail<ExecutionError>("scan", "a step without a kernel inside of a loop on a GPU");
      records_ += kernels_.back()->records();
    }
    for (const Routine::Copy& c : routine_->copies) {
      if (is_slice(c) && !is_staged(outputs_of(step)[c.output])) {
        slice_of_[c.from.index] = c.output;
        continue;
      }
      const Layout out{c.layout.shape, row_major(c.layout.shape), 0, c.layout.dtype};
      copies_.emplace_back(c, Copies());
      copies_.back().second.add(0, c.layout, 1, out, device);
    }
  }
  /// The output whose slices are what carried output k is: it is written there, and the next
  /// iteration reads it there. -1: none is.
  int slice_of(int64_t k) const { return slice_of_[k]; }

  size_t launches() const { return kernels_.size() + copies_.size(); }
  size_t records() const { return records_; }
  void raise(size_t record, const device::ErrorRecord& r) const {
    for (const auto& k : kernels_) {
      if (record < k->records()) return k->raise_record(record, r);
      record -= k->records();
    }
  }

  /// Enqueues the steps. `places`: addresses of inputs, outputs and the arena.
  struct Places {
    SmallVector<uint64_t, 16> inputs, outputs;
    uint64_t arena = 0;
    uint64_t at(const Routine::Place& p) const {
      const uint64_t base = p.kind == Routine::Place::input    ? inputs[p.index]
                            : p.kind == Routine::Place::output ? outputs[p.index]
                                                               : arena;
      return base + static_cast<uint64_t>(p.offset);
    }
  };
  void launch(const Enqueue& to, const Places& places) const {
    size_t record = 0;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const size_t own = kernels_[i]->records();
      launch_step(i,
                  to.with(to.records.subspan(record, own),
                          routine_->constants.data() + routine_->steps[i].first_constant),
                  places);
      record += own;
    }
    for (const auto& [c, copy] : copies_) {
      const uint64_t both[] = {places.at(c.from), places.outputs[c.output]};
      copy.launch(to, both);
    }
  }

 private:
  /// Whether a copy is that of a whole carried output to a slice, the first one of this output.
  bool is_slice(const Routine::Copy& c) const {
    const auto carried = static_cast<int>(slice_of_.size());
    return c.from.kind == Routine::Place::output && c.from.index < carried && c.output >= carried &&
           slice_of_[c.from.index] < 0 && c.from.offset == 0 && c.layout.offset == 0 &&
           is_rows(c.layout);
  }
  void launch_step(size_t i, const Enqueue& to, const Places& places) const {
    const Step& s = routine_->steps[i];
    SmallVector<uint64_t, 16> base;
    for (int slot : s.slots) base.push_back(places.at(routine_->places[slot]));
    if (s.loop.empty()) return kernels_[i]->launch(to, {base.data(), base.size()});
    SmallVector<uint64_t, 16> moved;
    moved.resize(base.size());
    each_position(s.loop, [&](const Shape& at) {
      for (size_t k = 0; k < base.size(); ++k) moved[k] = base[k] + moved_bytes(s, k, at);
      kernels_[i]->launch(to, {moved.data(), moved.size()});
    });
  }

  const std::shared_ptr<const Routine> routine_;
  std::vector<std::unique_ptr<const OpKernel>> kernels_;
  std::vector<std::pair<Routine::Copy, Copies>> copies_;
  std::vector<int> slice_of_;
  size_t records_ = 0;
};

class LoopKernel final : public OpKernel {
 public:
  LoopKernel(const Step& step, DeviceState& device, const PreparedFunction::Prepare& prepare)
      : step_(step),
        attrs_(control_of(step_.attrs.get())),
        function_(step_, attrs_.carried, device, prepare),
        memory_(outputs_of(step_), attrs_) {
    for (const Layout& l : step.operands) slice_bytes_.push_back(slice_bytes(l));
    for (size_t k = static_cast<size_t>(attrs_.carried); k < memory_.places.size(); ++k)
      staged_ += memory_.places[k] >= 0;
  }
  size_t launches() const override {
    return (function_.launches() + staged_) * static_cast<size_t>(attrs_.length);
  }
  size_t records() const override { return function_.records(); }
  void raise_record(size_t k, const device::ErrorRecord& r) const override {
    function_.raise(k, r);
  }

  void launch(const Enqueue& to, std::span<const uint64_t> bases) const override {
    const ControlAttrs& a = attrs_;
    SmallVector<uint64_t, 16> operands;
    for (size_t k = 0; k < bases.size(); ++k) {
      const Layout& l = step_.operands[k];
      operands.push_back(bases[k] + static_cast<uint64_t>(l.offset * int64_t{l.dtype.size()}));
    }
    const uint64_t memory = operands[step_.workspace];
    const auto first_carried = static_cast<size_t>(a.shared);
    const size_t first_slice = first_carried + static_cast<size_t>(a.carried);
    PreparedFunction::Places places;
    places.arena = memory + static_cast<uint64_t>(memory_.bytes);
    for (int k = 0; k < step_.n_inputs; ++k) places.inputs.push_back(operands[k]);
    for (int k = step_.n_inputs; k < step_.outputs_end(); ++k)
      places.outputs.push_back(operands[k]);
    auto slice = [&](size_t operand, int64_t at) {
      return operands[operand] + static_cast<uint64_t>(at * slice_bytes_[operand]);
    };
    auto own = [&](size_t output) {
      return memory + static_cast<uint64_t>(memory_.places[output]);
    };
    const auto carried = static_cast<size_t>(a.carried);
    const InterruptWatch interrupts;
    for (int64_t i = 0; i < a.length; ++i) {
      const int64_t at = a.reverse ? a.length - 1 - i : i;
      for (size_t k = first_slice; k < places.inputs.size(); ++k) places.inputs[k] = slice(k, at);
      for (size_t k = carried; k < places.outputs.size(); ++k)
        places.outputs[k] = memory_.places[k] >= 0 ? own(k) : slice(step_.n_inputs + k, at);
      for (size_t k = 0; k < carried; ++k) {
        // The last iteration writes to the output.
        const int own_slice = function_.slice_of(k);
        places.outputs[k] = own_slice >= 0                ? places.outputs[own_slice]
                            : (a.length - 1 - i) % 2 == 0 ? operands[step_.n_inputs + k]
                                                          : own(k);
      }
      function_.launch(to, places);
      for (size_t k = 0; k < carried; ++k) places.inputs[first_carried + k] = places.outputs[k];
      for (size_t k = carried; k < places.outputs.size(); ++k)
        if (memory_.places[k] >= 0)
          copy(to, own(k), slice(step_.n_inputs + k, at), slice_bytes_[step_.n_inputs + k]);
      interrupts.check();
    }
    for (size_t k = 0; k < carried; ++k)
      copy(to, places.inputs[first_carried + k], operands[step_.n_inputs + k],
           bytes_of(step_.operands[step_.n_inputs + k]));
  }

 private:
  /// Copies a value, unless it is there.
  static void copy(const Enqueue& to, uint64_t from, uint64_t target, int64_t bytes) {
    if (bytes > 0 && from != target)
      to.device().hardware->copy(Hardware::Way::within, target, from, static_cast<size_t>(bytes),
                                 to.stream());
  }

  const Step step_;
  const ControlAttrs& attrs_;
  const PreparedFunction function_;
  const Memory memory_;  ///< the arena is behind it
  size_t staged_ = 0;    ///< slices that an iteration copies
  SmallVector<int64_t, 16> slice_bytes_;
};

bool find_loop(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState&, Requirements& needs) {
  const Memory memory(operands.subspan(static_cast<size_t>(n_inputs)), control_of(attrs));
  needs.workspace = static_cast<size_t>(memory.bytes);
  return all_in_rows(operands, n_inputs, needs);
}
/// Functions that are planned for the host run there.
std::unique_ptr<const OpKernel> prepare_on_host(const Step&, DeviceState&) { return nullptr; }

constexpr KernelEntry kLoopKernels[] = {{"scan_loop", find_loop, prepare_on_host}};

}  // namespace

bool may_run_loop(const OpDef& op) { return &op == &op_scan_loop; }
bool is_planned_loop(const Step& step) {
  return !step.routines.empty() && step.routines[0]->space != Space::host;
}

bool runs_loop(const Step& step, const std::function<bool(const Step&)>& has_kernel) {
  const Routine& r = *step.routines[0];
  auto from_constant = [](const Routine::Copy& c) {
    return c.from.kind == Routine::Place::constant;
  };
  auto runs = [&](const Step& s) {
    if (!s.routines.empty()) return is_planned_loop(s);
    return !s.op || (!s.op->communicates && has_kernel(s));
  };
  return std::ranges::any_of(r.steps, is_large) && std::ranges::all_of(r.steps, runs) &&
         std::ranges::none_of(r.copies, from_constant);
}

std::unique_ptr<const OpKernel> prepare_loop(
    const Step& step, DeviceState& device,
    const std::function<std::unique_ptr<const OpKernel>(const Step&)>& prepare) {
  return std::make_unique<const LoopKernel>(step, device, prepare);
}

const std::span<const KernelEntry> loop_kernels = kLoopKernels;

}  // namespace mlx::core::gpu
