// Tile kernels of the elementwise operations: the functions that the interpreter of fused programs
// calls, one table per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/core/dtype.h"

namespace mlx::core {
enum class OpId : uint16_t;  // runtime/program.h
}

namespace mlx::core::cpu {

/// out[i] = op(in[0][i], ...) for i < n. Operands are packed arrays of the operand dtype (the
/// condition of `where` is bool), aligned to their elements; `out` may be exactly one of the inputs
/// if its elements are not wider. An element's result depends on its operands alone, not on its
/// place.
using TileFn = void (*)(const void* const* in, void* out, int64_t n);

/// What one instruction set offers. Strides count elements of `itemsize` (1, 2, 4, 8 or 16) bytes.
struct ElementwiseKernels {
  /// Kernel of a row of ops/elementwise.def, or of OpId::copy, for an operand dtype (that of the
  /// two alternatives for `where`); null where the row does not take the dtype.
  TileFn (*find_tile)(OpId op, Dtype::Val operand);
  /// Its twin that writes past the caches, if there is one: for the last op of programs that touch
  /// more than the last-level cache. Pays if `out` is aligned to 64 bytes; call `fence` when done.
  TileFn (*find_tile_nt)(OpId op, Dtype::Val operand);
  /// Conversion. Floats to integers truncate (out of range: the low bits of what the processor
  /// gives); to bool: whether not zero; complex to real: the real part.
  TileFn (*find_cast)(Dtype::Val from, Dtype::Val to);
  /// float32 (a op1 b) op2 c, or c op2 (a op1 b) if `swapped`, each op rounded; in = {a, b, c}. For
  /// add, subtract, multiply, divide, maximum, minimum; null for others.
  TileFn (*find_pair)(OpId op1, OpId op2, bool swapped);
  /// float32 ((in[0] op1 in[1]) op2 in[2]) ... for 2 to 4 ops among add, subtract and multiply,
  /// each rounded; `nt`: writes past the caches. Null for others.
  TileFn (*find_chain)(const OpId* ops, int length, bool nt);
  /// float32 op(in[0]), or op(in[0] * in[1]) if `scaled`, then + or * the last operand where
  /// `after` is add or multiply; each step rounded. Null where there is no such kernel.
  TileFn (*find_wrapped)(OpId op, bool scaled, OpId after);
  /// Makes the stores of find_tile_nt's kernels visible before those that follow.
  void (*fence)();

  /// dst[i] = src[i * stride]
  void (*load_strided)(void* dst, const void* src, int64_t stride, int64_t n, int itemsize);
  /// dst[i * stride] = src[i]
  void (*store_strided)(void* dst, int64_t stride, const void* src, int64_t n, int itemsize);
  /// dst[i] = *value
  void (*fill)(void* dst, const void* value, int64_t n, int itemsize);
  /// dst[r * cols + c] = src[r * row_stride + c * col_stride]; fast where row_stride is 1.
  void (*load_transposed)(void* dst, const void* src, int64_t rows, int64_t cols,
                          int64_t row_stride, int64_t col_stride, int itemsize);
};

namespace v2 {
extern const ElementwiseKernels elementwise_kernels;
}
namespace avx2 {
extern const ElementwiseKernels elementwise_kernels;
}
namespace avx512 {
extern const ElementwiseKernels elementwise_kernels;
}

}  // namespace mlx::core::cpu
