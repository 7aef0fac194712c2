// Prepares the executables of a plan, once.
#include "mlx/runtime/plan.h"

#include <algorithm>

namespace mlx::core {

const std::vector<std::shared_ptr<const Executable>>& Plan::prepare() const {
  if (prepared_.load(std::memory_order_acquire)) return executables_;
  std::call_once(once_, [&] {
    try {
      executables_.resize(segments.size());
      for (size_t k = 0; k < segments.size(); ++k) {
        auto& s = const_cast<Segment&>(segments[k]);
        if (s.steps.empty()) continue;
        executables_[k] = s.backend->prepare({std::move(s.steps), s.arena_bytes, s.stream.device});
        s.steps = {};
        if (!executables_[k]->complete) failed_.store(true, std::memory_order_release);
      }
      on_host_ = std::ranges::all_of(segments, [](auto& s) { return s.space == Space::host; });
      prepared_.store(true, std::memory_order_release);
    } catch (...) {
      error_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
    }
  });
  if (error_) std::rethrow_exception(error_);
  return executables_;
}

}  // namespace mlx::core
