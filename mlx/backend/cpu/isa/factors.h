// Kernels of factorisations: solutions of systems with triangles, and LU factors of a few columns.
// Compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// Kernels for float32 or float64; distances are in elements, of any sign.
struct FactorKernels {
  int64_t lines = 0;    ///< rows of a panel of a packed triangle; 0: the dtype has no kernels
  int64_t columns = 0;  ///< right-hand sides that are solved for at a time

  /// Packs a lower triangle with n rows, whose element (i, k) is at a[i * row + k * column], by
  /// panels of `lines` rows, with the reciprocals of its diagonal, or ones. The last element of an
  /// upper triangle and negative distances make it a lower one.
  void (*pack)(const void* a, int64_t row, int64_t column, int64_t n, bool unit,
               void* to) = nullptr;
  /// x = a⁻¹ · x for a packed triangle. Row i of x is at x[i * row], its `count` elements at a
  /// distance of one, from 1 to `columns`; there is memory for `columns` in each row, and for n
  /// rounded up to whole panels. The rows in front of `first` are zeros.
  void (*solve)(const void* packed, int64_t n, int64_t first, void* x, int64_t row,
                int64_t count) = nullptr;
  /// Copies between a part of a column-major matrix (n, count) and rows of `columns` elements each,
  /// as solve() has them; the elements behind a row are zeros.
  void (*load)(const void* a, int64_t ld, int64_t n, int64_t count, void* x) = nullptr;
  void (*store)(const void* x, int64_t n, int64_t count, void* a, int64_t ld) = nullptr;
  /// to[c * to_ld + r] = a[r * ld + c]
  void (*transpose)(const void* a, int64_t rows, int64_t columns, int64_t ld, void* to,
                    int64_t to_ld) = nullptr;
  /// The LU factors of a column-major matrix (m, n) with few columns, m >= n, as getrf makes them.
  int64_t (*lu)(int64_t m, int64_t n, void* a, int64_t ld, int* pivots) = nullptr;

  /// The number of elements of a packed triangle.
  int64_t packed_size(int64_t n) const {
    const int64_t panels = (n + lines - 1) / lines;
    return lines * lines * panels * (panels + 1) / 2;
  }
};

#define MLX_FACTORS(isa, ...)               \
  namespace isa {                           \
  FactorKernels find_factors(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_FACTORS)
#undef MLX_FACTORS

}  // namespace mlx::core::cpu
