// Prepares the executables of a plan, once.
#include "mlx/runtime/plan.h"

#include <algorithm>

namespace mlx::core {

const std::vector<std::shared_ptr<const Executable>>& Plan::prepare() const {
  if (prepared_.load(std::memory_order_acquire)) return executables_;
  // A mutex, and not std::call_once, which makes a system call at each first call.
  std::lock_guard lock(preparing_);
  if (error_) std::rethrow_exception(error_);
  if (prepared_.load(std::memory_order_relaxed)) return executables_;
  try {
    prepare_segments();
  } catch (...) {
    error_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
    throw;
  }
  prepared_.store(true, std::memory_order_release);
  return executables_;
}

void Plan::prepare_segments() const {
  executables_.resize(segments.size());
  for (size_t k = 0; k < segments.size(); ++k) {
    auto& s = const_cast<Segment&>(segments[k]);
    if (s.steps.empty()) continue;
    executables_[k] = s.backend->prepare({std::move(s.steps), s.arena_bytes, s.stream.device});
    s.steps = {};
    if (!executables_[k]->complete) failed_.store(true, std::memory_order_release);
  }
  on_host_ = std::ranges::all_of(segments, [](auto& s) { return s.space == Space::host; });
}

}  // namespace mlx::core
