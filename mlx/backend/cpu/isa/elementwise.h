// Tile kernels of the elementwise operations, called by the interpreter of fused programs; one
// table per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/api.h"
#include "mlx/core/dtype.h"

namespace mlx::core {
enum class OpId : uint16_t;  // backend/program.h
}

namespace mlx::core::cpu {

/// out[i] = op(in[0][i], ...) for i < n. Operands are contiguous arrays of the operand dtype (the
/// condition of `where` is bool), aligned to their element size; `out` may be identical to one of
/// the inputs if its elements are not wider. An element's result depends on its operands alone, not
/// on its index.
using TileFn = void (*)(const void* const* in, void* out, int64_t n);

/// One step of a run of floating-point ops (threaded code): a list of links processes a burst of
/// elements at a time; the value stays in registers from one handler to the next, as float32. The
/// first link loads, the last one is `end`.
using LinkFn = void (*)();  // actual type known to the kernels only
struct Link {
  LinkFn run;
  const void* operand;  ///< the tile that is read or written
  int64_t ahead;        ///< prefetch distance in bytes
  TileFn tile;          ///< used by `find_call`
  float constant;       ///< the scalar operand
  float high, low;      ///< for quotients: 1 / constant in two parts
};

/// The operands of a link: the current value, and a tile or a constant as the second or first
/// operand; `scaled` is a tile times a constant, for sums and products.
enum class LinkForm : uint8_t { unary, both, tile, tile_first, constant, constant_first, scaled };
/// True if the operand of a link is or contains a tile.
constexpr bool reads_tile(LinkForm f) {
  return f == LinkForm::tile || f == LinkForm::tile_first || f == LinkForm::scaled;
}

/// Links that compute nothing: transfers of the value from and to a tile of float32 or of 16-bit
/// floats, stores around the caches, and prefetches. `round` gives the value the precision of a
/// dtype; `round_store` also stores it, and leaves no value.
enum class LinkMove : uint8_t { load, store, stream, touch, round, round_store, round_stream };

struct LinkKernels {
  int64_t burst;
  /// The handler of a row whose second operand, if it is a tile, has the dtype `tile`; null if it
  /// has none. find_call must then be used, for float32.
  LinkFn (*find_link)(OpId op, LinkForm form, Dtype::Val tile);
  /// The handler that also does the work of the following link; null if there is none.
  LinkFn (*find_joint)(OpId op1, LinkForm form1, OpId op2, LinkForm form2);
  /// Calls a tile kernel; for all forms without a constant or a product.
  LinkFn (*find_call)(LinkForm form);
  /// `stream` stores need aligned tiles; `touch` prefetches `ahead` bytes.
  LinkFn (*find_move)(LinkMove move, Dtype::Val type);
  LinkFn end;
  /// Division by a constant without dividing (see cpu/divisors.h); may be null.
  LinkFn quotient;
  /// The same with a correction, for any divisor from 2^-40 to 2^40; may be null.
  LinkFn corrected_quotient;
  /// Runs the list over `bursts` bursts of elements.
  void (*run)(const Link* links, int64_t bursts);
};

/// Libraries of C copy so many bytes and more by a string instruction, which is ten times slower on
/// some processors where the destination is a few bytes further in its line than the source.
inline constexpr int64_t kLongCopy = 2048;

/// The kernels of one instruction set. Strides count elements of `itemsize` (1, 2, 4, 8 or 16)
/// bytes.
struct ElementwiseKernels {
  /// Kernel of a row of ops/elementwise.def, or of OpId::copy, for an operand dtype (that of the
  /// two alternatives for `where`); null if the row does not accept the dtype.
  TileFn (*find_tile)(OpId op, Dtype::Val operand);
  /// The variant with non-temporal stores, if there is one: for the last op of programs that access
  /// more memory than the last-level cache. Efficient if `out` is aligned to 64 bytes; call `fence`
  /// afterwards.
  TileFn (*find_tile_nt)(OpId op, Dtype::Val operand);
  /// Conversion. Floats to integers truncate (out of range: the low bits of what the processor
  /// gives); to bool: nonzero; complex to real: the real part.
  TileFn (*find_cast)(Dtype::Val from, Dtype::Val to);
  const LinkKernels& (*links)();
  /// Orders the stores of find_tile_nt's kernels before later stores.
  void (*fence)();

  /// Copies bytes; the memory must not overlap.
  void (*copy)(void* dst, const void* src, int64_t bytes);
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

// Exported for tests.
#define MLX_ELEMENTWISE_TABLE(isa, ...)                        \
  namespace isa {                                              \
  extern const MLX_API ElementwiseKernels elementwise_kernels; \
  }
MLX_EACH_ISA(MLX_ELEMENTWISE_TABLE)
#undef MLX_ELEMENTWISE_TABLE

}  // namespace mlx::core::cpu
