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
  /// The program of a step whose op reads the result, which would lie as `result` says.
  FusedKernel(const Step& step, const Layout& result);
  ~FusedKernel();
  FusedKernel(FusedKernel&&) noexcept;

  /// `operands`: addresses of the operands' first elements (inputs, then outputs). `constants`:
  /// values of the program's constants. Threads split the work where it pays; results do not depend
  /// on them.
  void run(void* const* operands, const Scalar* constants) const;

 private:
  friend class FusedSource;
  std::unique_ptr<const FusedCode> code_;
};

/// A program of one result whose elements others take piece by piece, each thread through a reader
/// of its own.
class FusedSource {
 public:
  FusedSource(const FusedKernel& kernel, void* const* operands, const Scalar* constants);
  ~FusedSource();
  /// Nanoseconds that all elements take one thread, roughly.
  double cost() const;

  class Reader {
   public:
    explicit Reader(const FusedSource& source);
    ~Reader();
    /// Computes n elements from the first-th on in row-major order.
    void read(int64_t first, int64_t n, void* out);

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace mlx::core::cpu
