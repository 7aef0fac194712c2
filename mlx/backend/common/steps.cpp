// Steps under an observer, and the bindings that failed steps did not write.
#include "mlx/backend/common/steps.h"

#include <algorithm>
#include <cmath>

#include "mlx/backend/common/odometer.h"

namespace mlx::core {

Layout whole_operand(const Step& s, int k) {
  Layout l = s.operands[k];
  for (size_t d = s.loop.size(); d-- > 0;) {
    l.shape.insert(l.shape.begin(), s.loop[d]);
    l.strides.insert(l.strides.begin(), s.advance[k][d]);
  }
  return l;
}

bool has_nan(const HostOperand& o) {
  if (!is_inexact(o.layout.dtype)) return false;
  return dispatch(o.layout.dtype, [&]<class T>(TypeTag<T>) {
    auto* data = static_cast<const T*>(o.data);
    Odometer<1> at(o.layout.shape, {o.layout.strides});
    for (int64_t n = num_elements(o.layout.shape); n-- > 0; at.next()) {
      const T& v = data[at[0]];
      if constexpr (requires { v.imag(); }) {
        if (std::isnan(v.real()) || std::isnan(v.imag())) return true;
      } else if constexpr (!std::is_integral_v<T>) {
        if (std::isnan(static_cast<double>(v))) return true;
      }
    }
    return false;
  });
}

namespace {

bool nan_constant(const Program& p, const Scalar* constants) {
  for (size_t k = 0; k < p.constants.size(); ++k)
    if (has_nan({constants[k].bytes, {{}, {}, 0, Dtype(p.constants[k])}})) return true;
  return false;
}

}  // namespace

void run_observed(StepObserver& observer, const Step& step, const Scalar* constants,
                  const std::function<void()>& kernel,
                  const std::function<bool(int, int)>& any_nan) {
  const bool look = observer.looks_for_nans() && !nan_constant(step.program, constants) &&
                    !any_nan(0, step.n_inputs);
  const auto start = Clock::now();
  try {
    kernel();
  } catch (...) {
    std::rethrow_exception(observer.describe(step, std::current_exception()));
  }
  const auto end = Clock::now();
  observer.report(step, start, end, look && any_nan(step.n_inputs, step.outputs_end()));
}

bool StepResults::reads(const StepSlots& s, const std::vector<bool>& bindings) {
  return std::any_of(s.slots.begin(), s.slots.begin() + s.n_inputs,
                     [&](int b) { return bindings[b]; });
}

bool StepResults::writes_inputs(const StepSlots& s, std::span<const Binding> bindings) {
  for (size_t o = s.n_inputs; o < s.slots.size(); ++o)
    for (int i = 0; i < s.n_inputs; ++i) {
      const Binding &in = bindings[s.slots[i]], &out = bindings[s.slots[o]];
      if (in.buffer == out.buffer && (in.buffer || in.offset == out.offset)) return true;
    }
  return false;
}

}  // namespace mlx::core
