// Matrix products with the project's own kernels: float32, float16 and bfloat16 (float32 sums,
// rounded once at the end) and integers. Any strides; threaded. Results depend on the shape, the
// layout and the instruction set, not on the number of threads nor on the batch.
#pragma once

#include <cstdint>
#include <optional>

#include "mlx/backend/cpu/isa/gemm.h"

namespace mlx::core::cpu {

/// out[m, n] = alpha * a[m, k] · b[k, n] + beta * addend[m, n]. `a` and `b` have elements of
/// `type`, `out` and the addend of `out_type`. The output must not overlap the operands; it may be
/// the addend itself. With k == 0 the product is zero.
///
/// On machines with AVX-512 BF16, bfloat16 goes through the dot product of pairs, which takes
/// subnormal numbers as zero and adds the two products of a pair one after the other.
struct Gemm {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmOutput type = GemmOutput::f32;
  GemmOutput out_type = GemmOutput::f32;
  GemmOperand a;
  GemmOperand b;
  GemmTarget out;
  GemmEpilogue epilogue;
};

/// The kernels of the instruction set in use.
const GemmKernels& gemm_kernels();

/// One product.
void gemm(const Gemm& product);

/// A small product of float32, whose kernel is chosen once, with the bits of gemm().
class SmallGemm {
 public:
  /// Elements that an operand has at most.
  static constexpr int64_t kMostElements = 64;
  /// For the sizes and strides of a product, whatever its pointers; `adds`: there is an addend.
  /// Nothing for other dtypes, and for products that gemm() computes by panels.
  static std::optional<SmallGemm> of(const Gemm& product, bool adds);
  void run(const float* a, const float* b, const float* addend, float* out) const;

 private:
  SmallGemm(const Gemm& product, bool swaps, bool adds);
  bool is_by_rows() const { return product_.b.row == 1; }

  Gemm product_;
  bool swaps_;  ///< the transposed product is computed
  bool adds_;
  bool copies_a_;   ///< its rows are not contiguous
  bool in_output_;  ///< sums are results
};

/// The matrices of a batch.
struct GemmBatch {
  int64_t count = 1;
  GemmStarts a;
  GemmStarts b;
  GemmStarts out;
  GemmStarts addend;
};

/// A batch of products of one shape, each exactly as gemm() would compute it.
void gemm_batched(const Gemm& product, const GemmBatch& batch);

/// out[m, n] = a[m, k] · b[k, n] for integers, modulo 2^bits (the same for signed and unsigned), or
/// for booleans (one byte, "or" of "and"s).
void gemm_int(GemmInt type, int64_t m, int64_t n, int64_t k, const GemmOperand& a,
              const GemmOperand& b, const GemmTarget& out);

/// A batch of integer products.
void gemm_int_batched(GemmInt type, int64_t m, int64_t n, int64_t k, const GemmOperand& a,
                      const GemmOperand& b, const GemmTarget& out, const GemmBatch& batch);

}  // namespace mlx::core::cpu
