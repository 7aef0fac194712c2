// The units that multiply tiles of bfloat16: 16 rows times 32 elements along K by as many elements
// times 16 columns. One kernel computes a block of 2 x 2 tiles of sums; packing, blocking and
// threads are in mlx/backend/cpu/gemm_tiles.h.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

inline constexpr int64_t kTileSide = 16;                        ///< rows or columns of a tile
inline constexpr int64_t kTileBlock = 2 * kTileSide;            ///< rows and columns of a block
inline constexpr int64_t kTileDepth = 32;                       ///< elements along K of one step
inline constexpr int64_t kTileUnits = kTileDepth / 2;           ///< pairs along K of one step
inline constexpr int64_t kTileStrip = kTileBlock * kTileDepth;  ///< elements of a packed step

/// Where a block goes.
enum class TileStore : uint8_t {
  sums,     ///< float32
  rows,     ///< bfloat16 at out[i * ld + j]
  columns,  ///< bfloat16 at out[i + j * ld]
};

/// out[rows, columns] = (first ? 0 : start) + A · B.
///
/// `a` holds at least `rows` rows of bfloat16, contiguous along K within a step. `b` is a packed
/// panel: for each step kTileUnits pairs of kTileBlock columns. The panel's columns, and the
/// elements along K that a partial step lacks, are zeros. `tail` is one more step of A, 32 rows of
/// 64 bytes.
struct TileBlock {
  const void* a = nullptr;
  int64_t a_row = 0;   ///< bytes between rows, a multiple of 2
  int64_t a_step = 0;  ///< bytes between steps
  const void* tail = nullptr;
  const uint32_t* b = nullptr;
  int64_t steps = 0;  ///< without the tail
  int64_t rows = kTileBlock, columns = kTileBlock;
  void* out = nullptr;
  int64_t ld = 0;  ///< elements
  TileStore store = TileStore::sums;
  const float* start = nullptr;  ///< sums to add to, if not `first`
  int64_t start_ld = 0;
  bool first = true;
};

/// A unit for tiles. `configure` prepares the calling thread and `release` gives its state back;
/// `block` runs between them.
///
/// The arithmetic of an element is that of Intel's TDPBF16PS, for each step: even = odd = +0; for
/// each pair along K even = fma(a0, b0, even), odd = fma(a1, b1, odd); sum = sum + (even + odd).
/// Each operation rounds to nearest even; subnormal operands and results are zeros of their sign.
/// So the bits of an element depend on its row, its column and K alone.
struct TileUnit {
  void (*configure)();
  void (*release)();
  void (*block)(const TileBlock& block);
};

#define MLX_TILE_TABLE(isa, ...)                                                                 \
  namespace isa {                                                                                \
  /** The processor's unit, or null if code for this instruction set has none. */                \
  extern const TileUnit* const tile_unit;                                                        \
  /** Packs `rows` <= 32 rows with `k` elements each to steps of 32 rows of 64 bytes, with zeros \
      for missing rows and elements. Strides in elements. */                                     \
  void pack_tile_rows(const uint16_t* src, int64_t stride_p, int64_t stride_k, int64_t rows,     \
                      int64_t k, uint16_t* dst);                                                 \
  }
MLX_EACH_ISA(MLX_TILE_TABLE)
#undef MLX_TILE_TABLE

}  // namespace mlx::core::cpu
