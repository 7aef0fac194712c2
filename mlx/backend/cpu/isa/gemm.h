// The kernels behind matrix products, compiled once per instruction set. They work on one thread
// and on raw pointers; mlx/backend/cpu/gemm.h blocks, threads and owns memory on top of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace mlx::core::cpu {

/// How operands of the floating products are read and held while computing. `bf16_pair` keeps
/// bfloat16 in pairs along K for the AVX-512 BF16 dot product, the others widen to float32.
enum class GemmSource : uint8_t { f32, f16, bf16, bf16_pair };

/// What the floating products write.
enum class GemmOutput : uint8_t { f32, f16, bf16 };

/// Element types of the integer products; booleans combine with "and" and "or".
enum class GemmInt : uint8_t { i8, i16, i32, i64, boolean };

/// A read-only operand: strides in elements, of any sign or zero.
struct GemmOperand {
  const void* data = nullptr;
  int64_t row = 0;
  int64_t col = 0;
};

/// What happens to a float32 sum before it is stored: alpha * sum + beta * addend. The addend has
/// the type of the output; without data it is left out.
struct GemmEpilogue {
  float alpha = 1;
  float beta = 0;
  GemmOperand addend;
};

/// The output of a product: strides in elements.
struct GemmTarget {
  void* data = nullptr;
  int64_t row = 0;
  int64_t col = 1;
};

/// Kernels of one instruction set. A "unit" is one 32-bit cell of a packed panel: a float32, or a
/// pair of bfloat16 that follow each other along K (zero behind an odd end).
struct GemmKernels {
  int64_t mr;  // rows of a panel of A
  int64_t nr;  // columns of a panel of B

  /// Packs `count` rows of A (or columns of B) with `k` elements each into panels of `width`
  /// rows: panel after panel, in each unit after unit, in each the `width` rows; missing rows are
  /// zero. `stride_p` leads from row to row, `stride_k` along K, in elements. By GemmSource.
  void (*pack[4])(const void* src, int64_t stride_p, int64_t stride_k, int64_t count, int64_t k,
                  int64_t width, uint32_t* dst);

  /// acc[m, n] (+)= A panels · B panels over the units [begin, end). `a_units` and `b_units` are
  /// the lengths of the panels in units; `ld` is the row stride of `acc`. `first` overwrites acc.
  /// Index 0 multiplies floats, index 1 pairs of bfloat16 (null where there is no such thing).
  void (*tile[2])(const uint32_t* a, int64_t a_units, const uint32_t* b, int64_t b_units, int64_t m,
                  int64_t n, int64_t begin, int64_t end, float* acc, int64_t ld, bool first);

  /// out[m, n] = epilogue(acc[m, n]), rounded once to nearest even. By GemmOutput.
  void (*store[3])(const float* acc, int64_t ld, int64_t m, int64_t n, const GemmTarget& out,
                   const GemmEpilogue& epilogue);

  /// acc[i * ld + j] = sum over k of x[i, k] * w[j, k] for i < m, j < n, both contiguous along K.
  /// x holds float32 with row stride `x_row` (for bf16_pair: bfloat16), w what the source says.
  /// Each sum depends on k alone. By GemmSource.
  void (*dot[4])(const void* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
                 int64_t k, float* acc, int64_t ld);

  /// acc[i * ld + j] = sum over k of x[i, k] * w[k, j] for i < m, j < n; x holds float32 with row
  /// stride `x_row`, w is contiguous along n with row stride `w_row`. Each sum runs in the order of
  /// k. By GemmSource except bf16_pair, which has none.
  void (*axpy[3])(const float* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
                  int64_t k, float* acc, int64_t ld);

  /// Widens `n` elements with the given stride to contiguous float32. By GemmSource except
  /// bf16_pair.
  void (*widen[3])(const void* src, int64_t stride, int64_t n, float* dst);

  /// out[m, n] = a · b modulo 2^bits, or the "or" of "and"s for booleans; `b_block` is room for
  /// kIntBlock * kIntBlock elements. By GemmInt; signedness makes no difference.
  void (*integer[5])(const GemmOperand& a, const GemmOperand& b, const GemmTarget& out, int64_t m,
                     int64_t n, int64_t k, void* b_block);
};

/// Side of the square blocks that the integer products work on.
inline constexpr int64_t kIntBlock = 128;

namespace v2 {
extern const GemmKernels gemm_kernels;
}
namespace avx2 {
extern const GemmKernels gemm_kernels;
}
namespace avx512 {
extern const GemmKernels gemm_kernels;
}

}  // namespace mlx::core::cpu
