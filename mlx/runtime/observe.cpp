// Observers of steps: which of them are on, and what they add to errors.
#include "mlx/runtime/observe.h"

#include "mlx/backend/backend.h"
#include "mlx/core/error.h"
#include "mlx/core/lines.h"
#include "mlx/runtime/profile.h"

namespace mlx::core {

std::atomic<StepObserver*> step_observer{nullptr};

namespace {

std::atomic<uint32_t> modes{0};
std::atomic<uint32_t (*)()> origin_source{nullptr};

std::string built_at(const Step& step) {
  std::string text = origin_text(step.origin);
  return text.empty() ? "" : "; built at " + text;
}

class Watcher final : public StepObserver {
 public:
  void report(const Step& step, Clock::time_point start, Clock::time_point end,
              bool made_nan) override {
    if (watching() & watch_times) Profile::record(step, start, end);
    if (made_nan && looks_for_nans())
      fail<ExecutionError>("debug_nans", "the step ", step.name(),
                           " has a NaN in its result and none in its inputs", built_at(step));
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

uint32_t intern_origin(const std::string& text) { return number_of_line(text); }

std::string origin_text(uint32_t origin) { return text_of_line(origin); }

}  // namespace mlx::core
