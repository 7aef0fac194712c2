// The factors of blocked products, packed for the arithmetic of their dtype: float32 lanes, pairs
// of bfloat16, or tiles.
#pragma once

#include <cstdint>

#include "mlx/backend/cpu/isa/gemm.h"
#include "mlx/backend/cpu/isa/gemm_tiles.h"

namespace mlx::core::cpu {

/// The unit for tiles of bfloat16 in use: the processor's, its model, or null.
const TileUnit* tile_unit();

/// The arithmetic of bfloat16 and the other dtypes on this processor: tiles, pairs or floats.
GemmSource gemm_source(GemmOutput type);

/// The arithmetic of products with few rows, which read the other factor in place: no tiles.
GemmSource row_source(GemmOutput type);

/// How the two factors of a product are packed and multiplied. A unit is one 32-bit cell: a float32
/// or two bfloat16 that are consecutive along K.
class GemmPanels {
 public:
  explicit GemmPanels(GemmSource source);
  explicit GemmPanels(GemmOutput type) : GemmPanels(gemm_source(type)) {}

  GemmSource source() const { return source_; }
  /// Elements along K in a unit: 2 if panels hold bfloat16.
  int64_t per() const { return per_; }
  int64_t rows() const { return rows_; }        ///< of a panel of A
  int64_t columns() const { return columns_; }  ///< of a panel of B
  /// Units along K of a panel for `k` elements.
  int64_t units(int64_t k) const;

  /// Packs `count` rows of A, or columns of B, with `k` elements each. `stride_p` is the stride
  /// between them, `stride_k` the stride along K, in elements.
  void pack_a(const void* src, int64_t stride_p, int64_t stride_k, int64_t count, int64_t k,
              uint32_t* to) const;
  void pack_b(const void* src, int64_t stride_p, int64_t stride_k, int64_t count, int64_t k,
              uint32_t* to) const;

  /// acc[m, n] (+)= A · B over the units [begin, end); see GemmKernels::tile. The calling thread
  /// must be inside a Scope. `next` has no effect on tiles of bfloat16.
  void multiply(const uint32_t* a, int64_t a_units, const uint32_t* b, int64_t b_units, int64_t m,
                int64_t n, int64_t begin, int64_t end, float* acc, int64_t ld, bool first,
                const GemmAhead* next = nullptr) const;
  /// The same over the first units of B, with the bits of `multiply`, for rows of A that are not
  /// packed and lie `line` units apart. There are no rows for tiles.
  void multiply_rows(const uint32_t* a, int64_t line, const uint32_t* b, int64_t b_units, int64_t m,
                     int64_t n, int64_t units, float* acc, int64_t ld, bool first) const;

  /// Prepares the thread for products until the end of the scope.
  class Scope {
   public:
    explicit Scope(const GemmPanels& panels) : unit_(panels.unit_) {
      if (unit_ != nullptr) unit_->configure();
    }
    ~Scope() {
      if (unit_ != nullptr) unit_->release();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const TileUnit* unit_;
  };

 private:
  const GemmKernels& kernels_;
  GemmSource source_;
  const TileUnit* unit_ = nullptr;
  int64_t rows_, columns_, per_, step_ = 1;
};

}  // namespace mlx::core::cpu
