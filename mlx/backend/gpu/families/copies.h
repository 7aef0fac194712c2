// Copies between operands of a step, each an elementwise program.
#pragma once

#include <memory>
#include <vector>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"

namespace mlx::core::gpu {

/// The unsigned integer, or the complex dtype, of as many bytes: one kernel serves all of a size.
Dtype bits_of(Dtype t);

class Copies {
 public:
  /// A copy from one operand to another, of parts that lie so. Copies of nothing are left out.
  void add(int from, const Layout& in, int to, const Layout& out, DeviceState& device);
  /// Runs them in order. One whose operands are at the same address, and lie alike, has nothing to
  /// do.
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const;

 private:
  struct Copy {
    int from, to;
    int64_t from_offset, to_offset;  // bytes
    bool alike;
    std::unique_ptr<const FusedKernel> kernel;
  };
  std::vector<Copy> copies_;
};

}  // namespace mlx::core::gpu
