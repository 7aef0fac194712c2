// Matrix products for operands of any strides.
#pragma once

#include <optional>
#include <vector>

#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// out = alpha * (a · b) + beta * c for matrices or stacks of them; operands broadcast over the
/// stack, `c` (or null) over the whole result. The dtypes are equal; the operands may have any
/// layout, `out` is row-contiguous.
void matrix_product(const View& a, const View& b, const View* c, const View& out, double alpha,
                    double beta);

/// A product of small float32 matrices, or of a few of them, prepared for many runs on one thread:
/// the bits of matrix_product.
class SmallProduct {
 public:
  /// For operands of these layouts, none of which repeats elements; `c` may be null. Nothing for
  /// other dtypes and large matrices.
  static std::optional<SmallProduct> of(const Layout& a, const Layout& b, const Layout* c,
                                        const Layout& out, double alpha, double beta);
  void run(const void* a, const void* b, const void* c, void* out) const;

 private:
  struct Start {
    int32_t a, b, c, out;  ///< elements
  };
  explicit SmallProduct(const SmallGemm& gemm) : gemm_(gemm) {}
  SmallGemm gemm_;
  std::vector<Start> starts_;
};

}  // namespace mlx::core::cpu
