// Units of rows: steps that run one after another over a block of rows that stays in the
// second-level cache (docs/adr/0030-row-units.md).
#pragma once

#include <memory>

#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

struct RowCode;

/// A unit of rows, prepared.
class RowKernel {
 public:
  explicit RowKernel(const Step& step);
  ~RowKernel();
  RowKernel(RowKernel&&) noexcept;
  /// `addresses`: of the buffers of the unit's operands, from which offsets of layouts count;
  /// `constants`: of the launch. Threads share the rows.
  void run(void* const* addresses, const Scalar* constants) const;

 private:
  std::unique_ptr<const RowCode> code_;
};

}  // namespace mlx::core::cpu
