// The tile interpreter: runs a fused program over tiles that stay in the first-level cache.
#pragma once

#include <memory>
#include <span>

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

/// The tile kernels of the loaded instruction set.
const ElementwiseKernels& loaded_kernels();

struct FusedCode;

/// A program compiled for given layouts: loops chosen, registers (tile slots) assigned, micro-ops
/// resolved to kernels of the loaded instruction set.
class FusedKernel {
 public:
  explicit FusedKernel(const Step& step);
  ~FusedKernel();
  FusedKernel(FusedKernel&&) noexcept;

  /// `operands`: addresses of the operands' first elements (inputs, then outputs). `constants`:
  /// values of the program's constants. Threads split the work where it pays; results do not depend
  /// on them.
  void run(void* const* operands, const Scalar* constants) const;

 private:
  std::unique_ptr<const FusedCode> code_;
};

}  // namespace mlx::core::cpu
