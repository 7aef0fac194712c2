// Products of bfloat16 by a unit for tiles: blocking, threads and memory. The rows of one factor
// are read where they are, or made strip by strip; the other factor is packed to panels.
#pragma once

#include <cstdint>

#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/isa/gemm_tiles.h"

namespace mlx::core::cpu {

/// Rows of bfloat16 in steps along K, and one more step that is packed (or null).
struct TileStrip {
  const void* data;
  int64_t row, step;  // bytes
  int64_t steps;
  const void* tail;
};

/// The factor whose rows are read by strips of at most kTileBlock rows.
class TileRows {
 public:
  virtual ~TileRows() = default;
  /// Elements [from, from + k) along K of `count` rows..
  /// `scratch` has room for a packed strip; `uses` is the number of blocks that will read it.
  virtual TileStrip strip(int64_t row, int64_t count, int64_t from, int64_t k, int64_t uses,
                          uint16_t* scratch) const = 0;
  /// Nanoseconds that an element costs each time it is read.
  virtual double cost() const = 0;
};

/// out[m, n] = epilogue(rows[m, k] · b[k, n]), bfloat16 factors and float32 sums. The bits of an
/// element depend on its row, its column and K alone.
struct TileProduct {
  int64_t m = 0, n = 0, k = 0;
  const TileRows* rows = nullptr;
  GemmOperand b;
  GemmOutput out_type = GemmOutput::bf16;
  GemmTarget out;
  GemmEpilogue epilogue;
};

void tile_product(const TileProduct& product);

/// A product whose factors are both in memory, in any layout; type bf16.
void gemm_tiles(const Gemm& product);

}  // namespace mlx::core::cpu
