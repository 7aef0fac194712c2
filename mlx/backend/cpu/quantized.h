// Products with packed matrices, based on isa/quantized.h.
#pragma once

#include "mlx/backend/cpu/isa/quantized.h"
#include "mlx/backend/cpu/kernel.h"
#include "mlx/ops/quantized.h"

namespace mlx::core::cpu {

/// Consecutive packed matrices with their scales and biases (or null), all contiguous.
struct PackedMatrices {
  Packing packing;
  int64_t rows, columns;  ///< of one matrix, unpacked
  const uint32_t* words;
  const void *scales, *biases;
  Dtype unit_dtype;  ///< dtype of scales and biases; uint8 for codes

  PackedMatrices(const Packing& p, const View& w, const View& scales, const View* biases);
  int64_t row_words() const { return columns * packing.bits / 32; }
  int64_t groups() const { return columns / packing.group; }
  const QuantKernels& kernels() const;
  /// Scales of rows [first, first + count), counted over all matrices, as floats with row stride
  /// `ld`.
  void read_scales(int64_t first, int64_t count, float* to, int64_t ld) const;
  /// Unpacks codes [from, from + n) of a row, both multiples of the group size.
  void unpack(int64_t row, int64_t from, int64_t n, float* to) const;
  /// The same, rounded to bfloat16; each 32 codes are contiguous, `stride` elements apart.
  void unpack_halves(int64_t row, int64_t from, int64_t n, uint16_t* to, int64_t stride) const;

 private:
  /// Calls `f(scales, biases or null, first code, codes)` for ranges of a row.
  template <class F>
  void each_range(int64_t row, int64_t from, int64_t n, F&& f) const;
};

/// out[m, n] = x[m, k] · w^T (or w) of matrix `index`; x and out are contiguous rows of `type`.
struct PackedProduct {
  const PackedMatrices* matrices;
  int64_t index;
  bool transpose;
  int64_t m;
  Dtype type;
  const void* x;
  void* out;
};
void packed_product(const PackedProduct& product);

}  // namespace mlx::core::cpu
