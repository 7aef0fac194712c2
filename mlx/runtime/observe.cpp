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

/// Throws the exception being handled with a text added to its message.
[[noreturn]] void rethrow_with(const std::string& text) {
  try {
    throw;
  } catch (const IndexError& e) {
    throw IndexError(e.what() + text);
  } catch (const ValueError& e) {
    throw ValueError(e.what() + text);
  } catch (const LinAlgError& e) {
    throw LinAlgError(e.what() + text);
  } catch (const TypeError& e) {
    throw TypeError(e.what() + text);
  } catch (const SizeError& e) {
    throw SizeError(e.what() + text);
  } catch (const MemoryError& e) {
    throw MemoryError(e.what() + text);
  } catch (const ExecutionError& e) {
    throw ExecutionError(e.what() + text);
  }
}

class Watcher final : public StepObserver {
 public:
  void run(const Step& step, std::span<void* const> operands, const Scalar* constants,
           const std::function<void()>& kernel) override {
    uint32_t mode = watching();
    bool check = mode & watch_nans && !any_nan(step, operands, 0, step.n_inputs) &&
                 !any_nan(step.program, constants);
    auto start = Profile::now();
    try {
      kernel();
    } catch (...) {
      std::string text = built_at(step);
      if (text.empty()) throw;
      rethrow_with(text);
    }
    if (mode & watch_times) Profile::record(step, start);
    if (check && any_nan(step, operands, step.n_inputs, outputs_end(step)))
      fail<ExecutionError>("debug_nans", "the step ", step.name(),
                           " made a NaN of inputs without NaN", built_at(step));
  }

 private:
  static int outputs_end(const Step& s) {
    return s.workspace >= 0 ? s.workspace : static_cast<int>(s.operands.size());
  }
  static bool any_nan(const Program& p, const Scalar* constants) {
    for (size_t k = 0; k < p.constants.size(); ++k)
      if (has_nan({constants[k].bytes, {{}, {}, 0, Dtype(p.constants[k])}})) return true;
    return false;
  }
  static bool any_nan(const Step& s, std::span<void* const> operands, int first, int last) {
    for (int k = first; k < last; ++k)
      if (has_nan({operands[k], s.operands[k]})) return true;
    return false;
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
