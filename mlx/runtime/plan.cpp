#include "mlx/runtime/plan.h"

namespace mlx::core {

const std::vector<std::shared_ptr<const Executable>>& Plan::prepare() const {
  std::call_once(once_, [&] {
    try {
      executables_.resize(segments.size());
      for (size_t k = 0; k < segments.size(); ++k) {
        auto& s = const_cast<Segment&>(segments[k]);
        if (s.steps.empty()) continue;
        executables_[k] = s.backend->prepare({std::move(s.steps), s.arena_bytes, s.stream.device});
        s.steps = {};
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  });
  if (error_) std::rethrow_exception(error_);
  return executables_;
}

}  // namespace mlx::core
