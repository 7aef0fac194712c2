// Observers of steps: which of them are on, and what they add to errors.
#include "mlx/runtime/observe.h"

#include <cmath>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mlx/backend/shared/odometer.h"
#include "mlx/core/error.h"
#include "mlx/runtime/profile.h"

namespace mlx::core {

std::atomic<StepObserver*> step_observer{nullptr};

namespace {

std::atomic<uint32_t> modes{0};
std::atomic<uint32_t (*)()> origin_source{nullptr};

struct Origins {
  std::mutex mutex;
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<std::string> texts{""};
};
Origins& origins() {
  static auto& o = *new Origins;
  return o;
}

std::string built_at(const Step& step) {
  std::string text = origin_text(step.origin);
  return text.empty() ? "" : "; built at " + text;
}

class Watcher final : public StepObserver {
 public:
  void run(const Step& step, std::span<void* const> operands, const Scalar* constants,
           const std::function<void()>& kernel) override {
    uint32_t mode = watching();
    bool check = mode & watch_nans && !any_nan(step, operands, 0, step.n_inputs) &&
                 !any_nan(step.program, constants);
    auto start = Clock::now();
    try {
      kernel();
    } catch (...) {
      std::rethrow_exception(describe(step, std::current_exception()));
    }
    report(step, start, Clock::now(),
           check && any_nan(step, operands, step.n_inputs, step.outputs_end()));
  }

  void report(const Step& step, Clock::time_point start, Clock::time_point end,
              bool made_nan) override {
    if (watching() & watch_times) Profile::record(step, start, end);
    if (made_nan && looks_for_nans())
      fail<ExecutionError>("debug_nans", "the step ", step.name(),
                           " made a NaN of inputs without NaN", built_at(step));
  }

  std::exception_ptr describe(const Step& step, std::exception_ptr error) override {
    std::string text = built_at(step);
    if (text.empty()) return error;
    try {
      std::rethrow_exception(error);
    } catch (const ExtensibleError& e) {
      try {
        e.throw_with(text);
      } catch (...) {
        return std::current_exception();
      }
    } catch (...) {
    }
    return error;
  }

  bool looks_for_nans() const override { return watching() & watch_nans; }

 private:
  static bool any_nan(const Program& p, const Scalar* constants) {
    for (size_t k = 0; k < p.constants.size(); ++k)
      if (has_nan({constants[k].bytes, {{}, {}, 0, Dtype(p.constants[k])}})) return true;
    return false;
  }
  static bool any_nan(const Step& s, std::span<void* const> operands, int first, int last) {
    for (int k = first; k < last; ++k)
      if (has_nan({operands[k], whole(s, k)})) return true;
    return false;
  }
  /// The operand at all positions of the step's loop.
  static Layout whole(const Step& s, int k) {
    Layout l = s.operands[k];
    for (size_t d = s.loop.size(); d-- > 0;) {
      l.shape.insert(l.shape.begin(), s.loop[d]);
      l.strides.insert(l.strides.begin(), s.advance[k][d]);
    }
    return l;
  }
};

}  // namespace

uint32_t watching() { return modes.load(std::memory_order_relaxed); }

bool watch(Watch what, bool on) {
  static auto& watcher = *new Watcher;
  uint32_t before = on ? modes.fetch_or(what) : modes.fetch_and(~what);
  uint32_t now = watching();
  step_observer = now ? &watcher : nullptr;
  node_origin = now ? origin_source.load() : nullptr;
  return before & what;
}

void set_origin_source(uint32_t (*source)()) { origin_source = source; }

uint32_t intern_origin(const std::string& text) {
  Origins& o = origins();
  std::lock_guard lock(o.mutex);
  auto [it, fresh] = o.numbers.emplace(text, static_cast<uint32_t>(o.texts.size()));
  if (fresh) o.texts.push_back(text);
  return it->second;
}

std::string origin_text(uint32_t origin) {
  Origins& o = origins();
  std::lock_guard lock(o.mutex);
  return origin < o.texts.size() ? o.texts[origin] : "";
}

bool has_nan(const Operand& o) {
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

}  // namespace mlx::core
