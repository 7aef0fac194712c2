// Requests of tests to the second backend: failures on request, streams that are held, and counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace mlx::core::fake {

enum class Failure : int { allocation, launch, copy, preparation };

/// True where this allocation, launch, copy or preparation of an executable is the one that shall
/// fail.
bool fails_now(Failure kind);

struct Counts {
  std::atomic<int64_t> buffers{0};  ///< allocated and not freed
  std::atomic<int64_t> faults{0};   ///< writes out of bounds or to freed memory
  std::atomic<int64_t> launches{0}, finished{0};
  std::atomic<int64_t> borrowed{0};                          ///< steps that ran through the CPU
  std::atomic<int64_t> to_device{0}, to_host{0}, within{0};  ///< bytes copied
};
Counts& counts();

}  // namespace mlx::core::fake
