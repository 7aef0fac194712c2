// Scans on a device: carried values alternate between two places, or lie in the slices of an output
// that collects them; slices move on.
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
int64_t aligned(int64_t bytes) {
  constexpr auto kAlignment = static_cast<int64_t>(kRoutineAlignment);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
bool is_large(const Step& s) {
  return std::ranges::any_of(
      s.operands, [](const Layout& l) { return num_elements(l.shape) >= kManyElements; });
}
/// Bytes of a second place of everything that a loop carries.
int64_t carried_bytes(std::span<const Layout> operands, int n_inputs, const ControlAttrs& a) {
  int64_t bytes = 0;
  for (int64_t k = 0; k < a.carried; ++k) bytes += aligned(bytes_of(operands[n_inputs + k]));
  return bytes;
}

/// The kernels of a function's steps, and where their operands are.
class PreparedFunction {
 public:
  using Prepare = std::function<std::unique_ptr<const OpKernel>(const Step&)>;
  /// `carried`: the first so many outputs are.
  PreparedFunction(const std::shared_ptr<const Routine>& routine, int64_t carried,
                   DeviceState& device, const Prepare& prepare)
      : routine_(routine), slice_of_(static_cast<size_t>(carried), -1) {
    for (const Step& s : routine->steps) {
      kernels_.push_back(prepare(s));
      if (!kernels_.back())
        fail<ExecutionError>("scan", "a step without a kernel inside of a loop on a GPU");
      records_ += kernels_.back()->records();
    }
    for (const Routine::Copy& c : routine->copies) {
      if (is_slice(c)) {
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

class ScanKernel final : public OpKernel {
 public:
  ScanKernel(const Step& step, DeviceState& device, const PreparedFunction::Prepare& prepare)
      : step_(step),
        attrs_(control_of(step_.attrs.get())),
        function_(step.routines[0], attrs_.carried, device, prepare),
        arena_(aligned(carried_bytes(step.operands, step.n_inputs, attrs_))) {
    for (const Layout& l : step.operands)
      slice_bytes_.push_back(l.shape.empty() ? 0 : bytes_of(l) / std::max<int64_t>(l.shape[0], 1));
  }
  size_t launches() const override {
    return function_.launches() * static_cast<size_t>(attrs_.length);
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
    places.arena = memory + static_cast<uint64_t>(arena_);
    for (int k = 0; k < step_.n_inputs; ++k) places.inputs.push_back(operands[k]);
    for (int k = step_.n_inputs; k < step_.outputs_end(); ++k)
      places.outputs.push_back(operands[k]);
    auto slice = [&](size_t operand, int64_t at) {
      return operands[operand] + static_cast<uint64_t>(at * slice_bytes_[operand]);
    };
    const InterruptWatch interrupts;
    for (int64_t i = 0; i < a.length; ++i) {
      const int64_t at = a.reverse ? a.length - 1 - i : i;
      for (size_t k = first_slice; k < places.inputs.size(); ++k) places.inputs[k] = slice(k, at);
      for (size_t k = static_cast<size_t>(a.carried); k < places.outputs.size(); ++k)
        places.outputs[k] = slice(step_.n_inputs + k, at);
      uint64_t other = memory;
      for (int64_t k = 0; k < a.carried; ++k) {
        // The last iteration writes to the output.
        const uint64_t output = operands[step_.n_inputs + k];
        const int own_slice = function_.slice_of(k);
        places.outputs[k] = own_slice >= 0                ? places.outputs[own_slice]
                            : (a.length - 1 - i) % 2 == 0 ? output
                                                          : other;
        other += static_cast<uint64_t>(carried_at(k));
      }
      function_.launch(to, places);
      for (int64_t k = 0; k < a.carried; ++k) places.inputs[first_carried + k] = places.outputs[k];
      interrupts.check();
    }
    for (int64_t k = 0; k < a.carried; ++k)
      copy(to, k, places.inputs[first_carried + k], operands[step_.n_inputs + k]);
  }

 private:
  /// Bytes of the second place of a carried value.
  int64_t carried_at(int64_t k) const {
    return aligned(bytes_of(step_.operands[step_.n_inputs + k]));
  }
  /// Copies a carried value, unless it is there.
  void copy(const Enqueue& to, int64_t k, uint64_t from, uint64_t target) const {
    const int64_t bytes = bytes_of(step_.operands[step_.n_inputs + k]);
    if (bytes > 0 && from != target)
      to.device().hardware->copy(Hardware::Way::within, target, from, static_cast<size_t>(bytes),
                                 to.stream());
  }

  const Step step_;
  const ControlAttrs& attrs_;
  const PreparedFunction function_;
  const int64_t arena_;  ///< where it begins in the workspace
  SmallVector<int64_t, 16> slice_bytes_;
};

bool find_scan(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState&, Requirements& needs) {
  needs.workspace = static_cast<size_t>(carried_bytes(operands, n_inputs, control_of(attrs)));
  return all_in_rows(operands, n_inputs, needs);
}
/// Functions that are planned for the host run there.
std::unique_ptr<const OpKernel> prepare_on_host(const Step&, DeviceState&) { return nullptr; }

constexpr KernelEntry kEntries[] = {{"scan_loop", find_scan, prepare_on_host}};

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
  return std::make_unique<const ScanKernel>(step, device, prepare);
}

const std::span<const KernelEntry> loop_kernels = kEntries;

}  // namespace mlx::core::gpu
