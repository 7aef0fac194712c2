// The thread pool of the CPU backend: one fork-join job at a time, run by the caller and by helpers
// that are awake. Joining takes well under a microsecond; a helper that arrives too late costs
// nothing; a parked helper is only woken if the work is large enough. The pool survives fork().
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace mlx::core::cpu {

/// A non-owning reference to a callable `void(int64_t begin, int64_t end)`.
class RangeRef {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, RangeRef>)
  RangeRef(F& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, int64_t begin, int64_t end) {
          (*static_cast<F*>(object))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t);
};

/// Number of threads a parallel loop may use, including the caller: get_num_threads(). It may
/// change between two calls, so a kernel asks once for each decision.
int num_threads();

/// Wakes parked helpers without waiting for them, so that they are ready when work arrives within
/// about 100 microseconds. For the start of long evaluations.
void wake_threads();

/// True if the calling thread is inside a parallel loop (nested loops run inline).
bool in_parallel();

namespace detail {
/// Runs a job on the pool; see parallel_for.
void run_parallel(int64_t n, int64_t grain, RangeRef f, double estimated_ns);
/// Work below this many nanoseconds stays on the calling thread.
inline constexpr double kMinParallelNs = 2000;
}  // namespace detail

/// Calls `f(begin, end)` on disjoint ranges that cover [0, n). Every range starts at a multiple of
/// `grain` (>= 1). The number of grains per call depends on the number of threads and on timing,
/// and is the whole loop if it runs inline, so results must not depend on more than single grains.
/// `estimated_ns` is the time of the whole loop on one thread: short loops run inline, as do nested
/// ones and those that find the pool busy. The first exception thrown by `f` stops the loop early
/// and is rethrown here once.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f, double estimated_ns) {
  if (n <= 0) {
    return;
  }
  if (estimated_ns < detail::kMinParallelNs || n <= grain) {
    f(int64_t{0}, n);
  } else {
    detail::run_parallel(n, grain, RangeRef(f), estimated_ns);
  }
}

}  // namespace mlx::core::cpu
