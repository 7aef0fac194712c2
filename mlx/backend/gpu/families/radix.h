// Radix sorts as parts of steps: of elements, of their positions, of keys that other kernels wrote.
#pragma once

#include <string>

#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

/// Lines of elements, `stride` apart in memory of `n * stride` elements each, and what is wanted.
struct RadixProblem {
  Dtype dtype;
  bool positions;  ///< or values
  int64_t lines, n, stride;
  int64_t bytes;  ///< lowest bytes in which keys differ
  const Hardware* device;
  int64_t kth = -1;  ///< rank of a partition; -1: a sort

  /// Whether keys, counts and positions have room in what the kernels use. Complex numbers have
  /// none.
  bool fits() const;
  /// Whether a block sorts or parts a line in shared memory.
  bool is_short() const;
  bool selects() const { return kth >= 0 && !is_short(); }
  size_t workspace() const;
};

class RadixSort {
 public:
  /// Compiles. The problem fits.
  RadixSort(const RadixProblem& problem, DeviceState& device);
  /// Addresses; 0: not wanted. `keys` and `places` get those of the sorted elements, line by line.
  struct Operands {
    int64_t in = 0, out = 0, keys = 0, places = 0, workspace = 0;
  };
  void launch(const Enqueue& to, const Operands& at) const;

 private:
  void launch_passes(const Enqueue& to, const Operands& at, device::RadixArguments& p) const;
  /// Enqueues the kernels that place the tiles of a pass.
  void launch_pass(const Enqueue& to, const device::RadixArguments& p) const;

  RadixProblem problem_;
  device::RadixArguments arguments_ = {};
  KernelOn<device::RadixArguments> rows_, clear_, counts_, pass_;
  KernelOn<device::RadixArguments> count_tiles_, add_tiles_;  ///< where blocks do not wait
};

}  // namespace mlx::core::gpu
