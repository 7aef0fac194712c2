// Tile kernels of the elementwise operations: the functions that the interpreter of fused programs
// calls, one table per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/core/api.h"
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

/// One step of a float32 run: a list of links that keeps one value in registers, a burst of
/// elements at a time, and works it off op by op. The first link loads, the last one is `end`.
using LinkFn = void (*)();  // of a type that the kernels know
struct Link {
  LinkFn run;
  const void* operand;  ///< the tile that is read or written
  int64_t ahead;        ///< bytes
  TileFn tile;          ///< of `find_call`
  float constant;       ///< the operand that is a scalar
  float high, low;      ///< of `quotient`: 1 / constant in two parts
};

/// What the operands of a link are: the value at hand, and a tile or a constant before or after it;
/// `scaled`: a tile times a constant, for sums and products.
enum class LinkForm : uint8_t { unary, both, tile, tile_first, constant, constant_first, scaled };
/// Whether the operand of a link is, or has in it, a tile.
constexpr bool reads_tile(LinkForm f) {
  return f == LinkForm::tile || f == LinkForm::tile_first || f == LinkForm::scaled;
}

struct LinkKernels {
  int64_t burst;
  /// The handler of a row; null where there is none, and find_call's serves.
  LinkFn (*find_link)(OpId op, LinkForm form);
  /// The handler of a link that also does the work of the following one; null where there is none.
  LinkFn (*find_twofold)(OpId op1, LinkForm form1, OpId op2, LinkForm form2);
  /// Calls a tile kernel; all forms but those with a constant or a product.
  LinkFn (*find_call)(LinkForm form);
  /// `stream` writes past the caches, to aligned tiles; `touch` prefetches from `ahead` of one.
  LinkFn load, store, stream, touch, end;
  /// Division by a constant without dividing (see cpu/divisors.h); may be null.
  LinkFn quotient;
  /// Runs the list over `bursts` * burst elements.
  void (*run)(const Link* links, int64_t bursts);
};

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
  const LinkKernels& (*links)();
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
extern const MLX_API ElementwiseKernels elementwise_kernels;  // tests look at them
}
namespace avx2 {
extern const MLX_API ElementwiseKernels elementwise_kernels;  // tests look at them
}
namespace avx512 {
extern const MLX_API ElementwiseKernels elementwise_kernels;  // tests look at them
}

}  // namespace mlx::core::cpu
