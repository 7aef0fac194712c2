// The kernels of matrix products, compiled once per instruction set. They are single-threaded and
// use raw pointers; mlx/backend/cpu/gemm.h does blocking, threading and memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// How operands of the floating-point products are read and stored for the computation. `bf16_pair`
/// keeps bfloat16 in pairs along K for the AVX-512 BF16 dot product, `bf16_tile` in pairs that fill
/// whole tiles (gemm_tiles.h); the others widen to float32.
enum class GemmSource : uint8_t { f32, f16, bf16, bf16_pair, bf16_tile };

/// The output dtype of the floating-point products.
enum class GemmOutput : uint8_t { f32, f16, bf16 };

/// Element types of the integer products; booleans combine with "and" and "or".
enum class GemmInt : uint8_t { i8, i16, i32, i64, boolean };

/// A read-only operand: strides in elements, of any sign or zero.
struct GemmOperand {
  const void* data = nullptr;
  int64_t row = 0;
  int64_t col = 0;
};

/// Applied to a float32 sum before it is stored: alpha * sum + beta * addend. The addend has the
/// type of the output; null data means no addend.
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

/// A factor of a product in 32-bit units, packed or in place. Unit u of line l (a row of A, a
/// column of B) of panel p is at data[p * panel + l * line + u * step].
struct GemmFactor {
  const uint32_t* data = nullptr;
  int64_t panel = 0;
  int64_t line = 1;
  int64_t step = 1;
};

/// The packed panels that a thread multiplies after the current ones, which come to the second
/// cache meanwhile. Nothing is read where a pointer leads nowhere.
struct GemmAhead {
  const uint32_t* a = nullptr;
  const uint32_t* b = nullptr;
};

/// Where the matrices of a batch start, in elements from the pointer of the product: in equal steps
/// unless `at` lists them. Without either, all share one matrix.
struct GemmStarts {
  const int64_t* at = nullptr;
  int64_t step = 0;
  int64_t operator[](int64_t item) const { return at != nullptr ? at[item] : item * step; }
};

/// A small operand as lines of elements that are `step` apart.
struct GemmLines {
  int64_t lines = 1;
  int64_t line = 0;  ///< elements from line to line
  int64_t length = 1;
  int64_t step = 1;
};

/// A small product of a batch, whose products are computed together. Lines of a factor run along K
/// with `a_along` or `b_along`, else across K; lines of the output run along N with `out_along`.
struct GemmSmall {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmLines a, b, out;
  bool a_along = true;
  bool b_along = true;
  bool out_along = true;
  bool dots = false;  ///< sums in the order of GemmKernels::dot, else in the order of `axpy`
};

/// Bounds of a small product: results, and units of a factor that are held at a time.
inline constexpr int64_t kSmallUnits = 64;

/// Kernels of one instruction set. A "unit" is one 32-bit cell of a packed panel: a float32, or a
/// pair of bfloat16 consecutive along K (padded with zero at an odd end).
struct GemmKernels {
  int64_t mr;  // rows of a panel of A
  int64_t nr;  // columns of a panel of B

  /// Packs `count` rows of A (or columns of B) with `k` elements each into panels of `width` rows:
  /// panel by panel, unit by unit, `width` rows each; missing rows are zero. `stride_p` is the row
  /// stride, `stride_k` the stride along K, in elements. Indexed by GemmSource; bf16_tile packs
  /// columns of B, with zeros up to a whole number of steps along K.
  void (*pack[5])(const void* src, int64_t stride_p, int64_t stride_k, int64_t count, int64_t k,
                  int64_t width, uint32_t* dst);

  /// acc[m, n] (+)= A panels · B panels over the units [begin, end). `a_units` and `b_units` are
  /// the lengths of the panels in units; `ld` is the row stride of `acc`. `first` overwrites acc.
  /// `next` may be null: panels that are near. Index 0 multiplies floats, index 1 pairs of bfloat16
  /// (null if not supported).
  void (*tile[2])(const uint32_t* a, int64_t a_units, const uint32_t* b, int64_t b_units, int64_t m,
                  int64_t n, int64_t begin, int64_t end, float* acc, int64_t ld, bool first,
                  const GemmAhead* next);

  /// acc[m, n] (+)= A · B over `units` units, with the bits of `tile`, and indexed like it. Either
  /// factor may be in place; of pairs, A alone. Of A, `line` or `step` is 1; of B, `line` is 1, and
  /// `step` is the distance between its rows. `edge` is a workspace of nr * units, or null for a B
  /// that is packed.
  void (*strided_tile[2])(const GemmFactor& a, const GemmFactor& b, int64_t m, int64_t n,
                          int64_t units, float* acc, int64_t ld, bool first, uint32_t* edge);

  /// out[m, n] = epilogue(acc[m, n]), rounded once to nearest even. Indexed by GemmOutput.
  void (*store[3])(const float* acc, int64_t ld, int64_t m, int64_t n, const GemmTarget& out,
                   const GemmEpilogue& epilogue);

  /// acc[i * ld + j] = sum over k of x[i, k] * w[j, k] for i < m, j < n, both contiguous along K. x
  /// is float32 with row stride `x_row` (for bf16_pair: bfloat16), w has the type of the source.
  /// The order of each sum depends on k alone. Indexed by GemmSource, without bf16_tile.
  void (*dot[4])(const void* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
                 int64_t k, float* acc, int64_t ld);

  /// acc[i * ld + j] = sum over k of x[i, k] * w[k, j] for i < m, j < n; x is float32 with row
  /// stride `x_row`, w is contiguous along n with row stride `w_row`. Each sum is in the order of
  /// k. `prefetch`: rows of w are requested before they are read, for processors whose hardware
  /// does not. Indexed by GemmSource, without bf16_pair.
  void (*axpy[3])(const float* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
                  int64_t k, float* acc, int64_t ld, bool prefetch);

  /// The products [begin, end) of a batch, as many at once as a register has lanes, with the bits
  /// of `dot` or `axpy`. At most kSmallUnits results; each factor has at most so many units, or
  /// there is one result. Indexed by GemmSource, without bf16_tile; bf16_pair for `dots` alone,
  /// with lines along K.
  void (*small[4])(const GemmSmall& p, const void* a, const GemmStarts& a_at, const void* b,
                   const GemmStarts& b_at, void* out, const GemmStarts& out_at, int64_t begin,
                   int64_t end);

  /// Widens `n` elements with the given stride to contiguous float32. Indexed by GemmSource,
  /// without bf16_pair and bf16_tile.
  void (*widen[3])(const void* src, int64_t stride, int64_t n, float* dst);

  /// out[m, n] = a · b modulo 2^bits, or the "or" of "and"s for booleans; `b_block` is a workspace
  /// of kIntBlock * kIntBlock elements. Indexed by GemmInt, without regard to signedness.
  void (*integer[5])(const GemmOperand& a, const GemmOperand& b, const GemmTarget& out, int64_t m,
                     int64_t n, int64_t k, void* b_block);
};

/// Side of the square blocks that the integer products work on.
inline constexpr int64_t kIntBlock = 128;

#define MLX_GEMM_TABLE(isa, ...)         \
  namespace isa {                        \
  extern const GemmKernels gemm_kernels; \
  }
MLX_EACH_ISA(MLX_GEMM_TABLE)
#undef MLX_GEMM_TABLE

}  // namespace mlx::core::cpu
