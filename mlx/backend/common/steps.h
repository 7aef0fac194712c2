// Steps of a launch as every backend runs them: in order, at the positions of their loops, under
// the eyes of an observer; and the outcome where some failed.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/core/event.h"

namespace mlx::core {

/// The bindings of a step: inputs first.
struct StepSlots {
  std::span<const int> slots;
  int n_inputs;
};
inline StepSlots slots_of(const Step& s) { return {{s.slots.data(), s.slots.size()}, s.n_inputs}; }

/// f(position) at each position of a step's loop, in row-major order; once without a loop.
template <class F>
void each_position(const Shape& loop, F f) {
  Shape at(loop.size(), 0);
  for (int64_t n = num_elements(loop); n-- > 0;) {
    f(static_cast<const Shape&>(at));
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < loop[d]) break;
      at[d] = 0;
    }
  }
}
/// How far, in bytes, operand k of a step moves to a position of its loop.
inline int64_t moved_bytes(const Step& s, size_t k, const Shape& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < at.size(); ++d) offset += at[d] * s.advance[k][d];
  return offset * s.operands[k].dtype.size();
}
/// Operand k of a step at all positions of its loop.
MLX_API Layout whole_operand(const Step& step, int k);

/// Elements that the host can read.
struct HostOperand {
  const void* data;
  const Layout& layout;
};
/// True where a floating or complex element is NaN.
MLX_API bool has_nan(const HostOperand& o);

/// Runs a step by `kernel`, which ends when its results are there, and tells the observer.
/// `any_nan(first, end)`: whether operands from `first` to `end` hold NaNs, at all positions of the
/// loop. Errors name the line of the program that built the step.
MLX_API void run_observed(StepObserver& observer, const Step& step, const Scalar* constants,
                          const std::function<void()>& kernel,
                          const std::function<bool(int first, int end)>& any_nan);

/// The outcome of the steps of a launch: the first error, and which steps failed.
class MLX_API StepResults {
 public:
  explicit StepResults(size_t steps) : steps_(steps) {}
  /// Notes that a step has not written its outputs, and the error where it is the first.
  void fail(size_t step, std::exception_ptr error) {
    failed_.resize(steps_);
    failed_[step] = true;
    if (!error_) error_ = std::move(error);
  }
  const std::exception_ptr& error() const { return error_; }

  /// Runs steps from `next` on. Steps that read what a failed one had to write are left out. Throws
  /// where the launch can go on later with the step at `next`: an error as of too little memory, at
  /// a step that has not overwritten what it reads. `slots(i)`: the bindings of step i; `before(i)`
  /// may end the run in front of it, and `run_step(i)` runs it.
  template <class Slots, class Before, class Run>
  void run(size_t& next, std::span<const Binding> bindings, Slots slots, Before before,
           Run run_step) {
    for (; next < steps_; ++next) {
      before(next);
      const StepSlots s = slots(next);
      if (error_ && reads(s, unwritten(bindings.size(), next, slots))) {
        failed_[next] = true;
        continue;
      }
      try {
        run_step(next);
      } catch (...) {
        if (can_resume(std::current_exception()) && !writes_inputs(s, bindings)) throw;
        fail(next, std::current_exception());
      }
    }
  }
  /// The buffers that failed steps, or steps that read what these had to write, did not write.
  template <class Slots>
  std::vector<const Buffer*> unwritten_buffers(std::span<const Binding> bindings,
                                               Slots slots) const {
    std::vector<const Buffer*> found;
    const std::vector<bool> bad = unwritten(bindings.size(), failed_.size(), slots);
    for (size_t b = 0; b < bindings.size(); ++b)
      if (bad[b] && bindings[b].buffer) found.push_back(bindings[b].buffer);
    return found;
  }

 private:
  static bool reads(const StepSlots& s, const std::vector<bool>& bindings);
  /// True if an output overlaps an input: the step cannot run a second time.
  static bool writes_inputs(const StepSlots& s, std::span<const Binding> bindings);
  template <class Slots>
  std::vector<bool> unwritten(size_t bindings, size_t steps, Slots slots) const {
    std::vector<bool> bad(bindings);
    for (size_t i = 0; i < steps; ++i) {
      const StepSlots s = slots(i);
      if (failed_[i] || reads(s, bad))
        for (size_t k = s.n_inputs; k < s.slots.size(); ++k) bad[s.slots[k]] = true;
    }
    return bad;
  }

  std::exception_ptr error_;
  size_t steps_;
  std::vector<bool> failed_;  ///< empty while none has
};

}  // namespace mlx::core
